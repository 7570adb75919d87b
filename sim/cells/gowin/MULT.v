// Multipliers of Gowin's FPGAs: DOUT = A * B, each signed or not.
//
// Modelled is what Yosys uses: no registers, and so no clock, and no cascade. Other modes name a module
// that does not exist, so that no netlist uses them unseen.
// Source: what Yosys makes of a product, in its gowin/dsp_map.v.

`define GOWIN_MULTIPLIER(NAME, WIDTH) \
module NAME ( \
    input [WIDTH-1:0] A, SIA, B, SIB, \
    input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET, \
    output [2*WIDTH-1:0] DOUT, \
    output [WIDTH-1:0] SOA, SOB \
); \
    parameter AREG = 1'b0; \
    parameter BREG = 1'b0; \
    parameter OUT_REG = 1'b0; \
    parameter PIPE_REG = 1'b0; \
    parameter ASIGN_REG = 1'b0; \
    parameter BSIGN_REG = 1'b0; \
    parameter SOA_REG = 1'b0; \
    parameter MULT_RESET_MODE = "SYNC"; \
 \
    assign SOA = ASEL ? SIA : A; \
    assign SOB = BSEL ? SIB : B; \
 \
    // One bit more holds unsigned operands too. \
    wire signed [WIDTH:0] wide_a = {ASIGN & SOA[WIDTH-1], SOA}; \
    wire signed [WIDTH:0] wide_b = {BSIGN & SOB[WIDTH-1], SOB}; \
    wire signed [2*WIDTH+1:0] product = wide_a * wide_b; \
    assign DOUT = product[2*WIDTH-1:0]; \
 \
    generate \
        if (AREG != 0 || BREG != 0 || OUT_REG != 0 || PIPE_REG != 0 || ASIGN_REG != 0 \
            || BSIGN_REG != 0 || SOA_REG != 0) \
            MULT_MODE_IS_NOT_MODELLED mode (); \
    endgenerate \
endmodule

`GOWIN_MULTIPLIER(MULT9X9, 9)
`GOWIN_MULTIPLIER(MULT18X18, 18)
