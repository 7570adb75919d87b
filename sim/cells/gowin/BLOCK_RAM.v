// What the cells with a block RAM of Gowin's FPGAs share: 18 kbit, two ports of 9, 18 or 36 bits.
//
// An address counts bits, 8 to each 9-bit byte. Ports of 18 and 36 bits take write enables for each
// byte in place of the lowest bits of the address. A reset clears what its port reads, whatever the
// enables are, and does not block what the port would write: `rdsrst zero ungated` in Yosys'
// gowin/brams.txt.
//
// Modelled is what Yosys uses: no output registers, and so no enables of them. Other modes name a module
// that does not exist, so that no netlist uses them unseen.
// Source: DPX9B and SDPX9B in prim_sim.v, Gowin's functional simulation library.

// Parameters with a cell's first content, and that content as one number.
`define GOWIN_INITS \
    parameter [287:0] INIT_RAM_00 = 0; parameter [287:0] INIT_RAM_01 = 0; \
    parameter [287:0] INIT_RAM_02 = 0; parameter [287:0] INIT_RAM_03 = 0; \
    parameter [287:0] INIT_RAM_04 = 0; parameter [287:0] INIT_RAM_05 = 0; \
    parameter [287:0] INIT_RAM_06 = 0; parameter [287:0] INIT_RAM_07 = 0; \
    parameter [287:0] INIT_RAM_08 = 0; parameter [287:0] INIT_RAM_09 = 0; \
    parameter [287:0] INIT_RAM_0A = 0; parameter [287:0] INIT_RAM_0B = 0; \
    parameter [287:0] INIT_RAM_0C = 0; parameter [287:0] INIT_RAM_0D = 0; \
    parameter [287:0] INIT_RAM_0E = 0; parameter [287:0] INIT_RAM_0F = 0; \
    parameter [287:0] INIT_RAM_10 = 0; parameter [287:0] INIT_RAM_11 = 0; \
    parameter [287:0] INIT_RAM_12 = 0; parameter [287:0] INIT_RAM_13 = 0; \
    parameter [287:0] INIT_RAM_14 = 0; parameter [287:0] INIT_RAM_15 = 0; \
    parameter [287:0] INIT_RAM_16 = 0; parameter [287:0] INIT_RAM_17 = 0; \
    parameter [287:0] INIT_RAM_18 = 0; parameter [287:0] INIT_RAM_19 = 0; \
    parameter [287:0] INIT_RAM_1A = 0; parameter [287:0] INIT_RAM_1B = 0; \
    parameter [287:0] INIT_RAM_1C = 0; parameter [287:0] INIT_RAM_1D = 0; \
    parameter [287:0] INIT_RAM_1E = 0; parameter [287:0] INIT_RAM_1F = 0; \
    parameter [287:0] INIT_RAM_20 = 0; parameter [287:0] INIT_RAM_21 = 0; \
    parameter [287:0] INIT_RAM_22 = 0; parameter [287:0] INIT_RAM_23 = 0; \
    parameter [287:0] INIT_RAM_24 = 0; parameter [287:0] INIT_RAM_25 = 0; \
    parameter [287:0] INIT_RAM_26 = 0; parameter [287:0] INIT_RAM_27 = 0; \
    parameter [287:0] INIT_RAM_28 = 0; parameter [287:0] INIT_RAM_29 = 0; \
    parameter [287:0] INIT_RAM_2A = 0; parameter [287:0] INIT_RAM_2B = 0; \
    parameter [287:0] INIT_RAM_2C = 0; parameter [287:0] INIT_RAM_2D = 0; \
    parameter [287:0] INIT_RAM_2E = 0; parameter [287:0] INIT_RAM_2F = 0; \
    parameter [287:0] INIT_RAM_30 = 0; parameter [287:0] INIT_RAM_31 = 0; \
    parameter [287:0] INIT_RAM_32 = 0; parameter [287:0] INIT_RAM_33 = 0; \
    parameter [287:0] INIT_RAM_34 = 0; parameter [287:0] INIT_RAM_35 = 0; \
    parameter [287:0] INIT_RAM_36 = 0; parameter [287:0] INIT_RAM_37 = 0; \
    parameter [287:0] INIT_RAM_38 = 0; parameter [287:0] INIT_RAM_39 = 0; \
    parameter [287:0] INIT_RAM_3A = 0; parameter [287:0] INIT_RAM_3B = 0; \
    parameter [287:0] INIT_RAM_3C = 0; parameter [287:0] INIT_RAM_3D = 0; \
    parameter [287:0] INIT_RAM_3E = 0; parameter [287:0] INIT_RAM_3F = 0;

`define GOWIN_INIT { \
    INIT_RAM_3F, INIT_RAM_3E, INIT_RAM_3D, INIT_RAM_3C, INIT_RAM_3B, \
    INIT_RAM_3A, INIT_RAM_39, INIT_RAM_38, INIT_RAM_37, INIT_RAM_36, \
    INIT_RAM_35, INIT_RAM_34, INIT_RAM_33, INIT_RAM_32, INIT_RAM_31, \
    INIT_RAM_30, INIT_RAM_2F, INIT_RAM_2E, INIT_RAM_2D, INIT_RAM_2C, \
    INIT_RAM_2B, INIT_RAM_2A, INIT_RAM_29, INIT_RAM_28, INIT_RAM_27, \
    INIT_RAM_26, INIT_RAM_25, INIT_RAM_24, INIT_RAM_23, INIT_RAM_22, \
    INIT_RAM_21, INIT_RAM_20, INIT_RAM_1F, INIT_RAM_1E, INIT_RAM_1D, \
    INIT_RAM_1C, INIT_RAM_1B, INIT_RAM_1A, INIT_RAM_19, INIT_RAM_18, \
    INIT_RAM_17, INIT_RAM_16, INIT_RAM_15, INIT_RAM_14, INIT_RAM_13, \
    INIT_RAM_12, INIT_RAM_11, INIT_RAM_10, INIT_RAM_0F, INIT_RAM_0E, \
    INIT_RAM_0D, INIT_RAM_0C, INIT_RAM_0B, INIT_RAM_0A, INIT_RAM_09, \
    INIT_RAM_08, INIT_RAM_07, INIT_RAM_06, INIT_RAM_05, INIT_RAM_04, \
    INIT_RAM_03, INIT_RAM_02, INIT_RAM_01, INIT_RAM_00}

module GOWIN_BLOCK_RAM #(
    parameter WIDTH_A = 36,
    parameter WIDTH_B = 36,
    parameter WRITE_MODE_A = 0,
    parameter WRITE_MODE_B = 0,
    parameter PIPELINE = 0,
    parameter RESET_MODE = "SYNC",
    parameter [64*288-1:0] INIT = 0
) (
    input CLKA, ENA, WREA, RESETA,
    input CLKB, ENB, WREB, RESETB,
    input [13:0] ADA, ADB,
    input [35:0] DIA, DIB,
    output [35:0] DOA, DOB
);
    wire [35:0] old_a;
    wire [35:0] old_b;
    wire [3:0] bytes_a;
    wire [3:0] bytes_b;
    wire [35:0] new_a;
    wire [35:0] new_b;
    GOWIN_PORT #(.WIDTH(WIDTH_A), .WRITE_MODE(WRITE_MODE_A), .RESET_MODE(RESET_MODE)) a (
        .CLK(CLKA), .EN(ENA), .WRE(WREA), .RESET(RESETA), .AD(ADA), .DI(DIA), .DO(DOA),
        .old(old_a), .bytes(bytes_a), .written(new_a));
    GOWIN_PORT #(.WIDTH(WIDTH_B), .WRITE_MODE(WRITE_MODE_B), .RESET_MODE(RESET_MODE)) b (
        .CLK(CLKB), .EN(ENB), .WRE(WREB), .RESET(RESETB), .AD(ADB), .DI(DIB), .DO(DOB),
        .old(old_b), .bytes(bytes_b), .written(new_b));

    generate
        genvar lane;
        for (lane = 0; lane < 4; lane = lane + 1) begin : lanes
            reg [8:0] store [0:511];
            integer number;
            initial
                for (number = 0; number < 512; number = number + 1)
                    store[number] = INIT[36 * number + 9 * lane +: 9];
            assign old_a[9 * lane +: 9] = store[ADA[13:5]];
            assign old_b[9 * lane +: 9] = store[ADB[13:5]];
            always @(posedge CLKA)
                if (bytes_a[lane]) store[ADA[13:5]] <= new_a[9 * lane +: 9];
            always @(posedge CLKB)
                if (bytes_b[lane]) store[ADB[13:5]] <= new_b[9 * lane +: 9];
        end
        if (PIPELINE)
            BLOCK_RAM_PIPELINE_IS_NOT_MODELLED pipeline ();
    endgenerate
endmodule

// A port: which bytes of its 36-bit word it writes, and what it reads.
module GOWIN_PORT #(
    parameter WIDTH = 36,
    parameter WRITE_MODE = 0,
    parameter RESET_MODE = "SYNC"
) (
    input CLK, EN, WRE, RESET,
    input [13:0] AD,
    input [35:0] DI,
    input [35:0] old,
    output [3:0] bytes,
    output [35:0] written,
    output reg [35:0] DO = 0
);
    wire [3:0] lanes;
    wire at_once = RESET_MODE == "ASYNC" && RESET;
    assign bytes = EN && WRE ? lanes : 4'd0;

    // Normal mode reads nothing while it writes, write-through what it writes, the third what was there.
    wire [35:0] shown;
    genvar lane;
    generate
        for (lane = 0; lane < 4; lane = lane + 1) begin : shows
            assign shown[9 * lane +: 9] =
                bytes[lane] && WRITE_MODE == 1 ? written[9 * lane +: 9] : old[9 * lane +: 9];
        end
    endgenerate

    wire [35:0] read;
    always @(posedge CLK or posedge at_once)
        if (at_once || RESET)
            DO <= 0;
        else if (EN && !(WRE && WRITE_MODE == 0))
            DO <= read;

    generate
        if (WIDTH == 9) begin
            assign lanes = 4'b0001 << AD[4:3];
            assign written = {4{DI[8:0]}};
            assign read = shown[9 * AD[4:3] +: 9];
        end else if (WIDTH == 18) begin
            assign lanes = AD[4] ? {AD[1:0], 2'b00} : {2'b00, AD[1:0]};
            assign written = {2{DI[17:0]}};
            assign read = AD[4] ? shown[35:18] : shown[17:0];
        end else if (WIDTH == 36) begin
            assign lanes = AD[3:0];
            assign written = DI;
            assign read = shown;
        end else
            BLOCK_RAM_WIDTH_IS_NOT_MODELLED width ();
    endgenerate
endmodule
