// Multiplier of the ECP5: Y = A * B, each signed or not.
//
// Operands and product may each have a register of the first clock with the first enable. Modelled are
// no other clocks, no resets, no output register, no cascade: Yosys infers no register at all. Other
// modes name a module that does not exist, so that no netlist uses them unseen;
// sim/simulators/netlist.py refuses netlists whose resets or choices of a cascade are not 0.
// Source: Lattice, ECP5 and ECP5-5G sysDSP Usage Guide (FPGA-TN-02205).

module MULT18X18D (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    input CLK3, CLK2, CLK1, CLK0, CE3, CE2, CE1, CE0, RST3, RST2, RST1, RST0,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19,
    P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0,
    output SIGNEDP
);
    parameter REG_INPUTA_CLK = "NONE";
    parameter REG_INPUTA_CE = "CE0";
    parameter REG_INPUTA_RST = "RST0";
    parameter REG_INPUTB_CLK = "NONE";
    parameter REG_INPUTB_CE = "CE0";
    parameter REG_INPUTB_RST = "RST0";
    parameter REG_INPUTC_CLK = "NONE";
    parameter REG_PIPELINE_CLK = "NONE";
    parameter REG_PIPELINE_CE = "CE0";
    parameter REG_PIPELINE_RST = "RST0";
    parameter REG_OUTPUT_CLK = "NONE";
    parameter RESETMODE = "SYNC";
    parameter GSR = "ENABLED";
    parameter SOURCEB_MODE = "B_SHIFT";
    parameter MULT_BYPASS = "DISABLED";

    wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
    wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};

    reg [17:0] held_a = 0;
    reg [17:0] held_b = 0;
    reg [35:0] held_product = 0;
    wire [17:0] used_a = REG_INPUTA_CLK == "CLK0" ? held_a : a;
    wire [17:0] used_b = REG_INPUTB_CLK == "CLK0" ? held_b : b;

    // One bit more holds unsigned operands too.
    wire signed [18:0] wide_a = {SIGNEDA & used_a[17], used_a};
    wire signed [18:0] wide_b = {SIGNEDB & used_b[17], used_b};
    wire signed [37:0] product = wide_a * wide_b;

    always @(posedge CLK0)
        if (CE0) begin
            held_a <= a;
            held_b <= b;
            held_product <= product[35:0];
        end

    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19,
    P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} =
        REG_PIPELINE_CLK == "CLK0" ? held_product : product[35:0];
    assign SIGNEDP = SIGNEDA | SIGNEDB;

    generate
        if ((REG_INPUTA_CLK != "NONE" && REG_INPUTA_CLK != "CLK0") || REG_INPUTA_CE != "CE0"
            || (REG_INPUTB_CLK != "NONE" && REG_INPUTB_CLK != "CLK0") || REG_INPUTB_CE != "CE0"
            || (REG_PIPELINE_CLK != "NONE" && REG_PIPELINE_CLK != "CLK0")
            || REG_PIPELINE_CE != "CE0" || REG_INPUTC_CLK != "NONE" || REG_OUTPUT_CLK != "NONE"
            || SOURCEB_MODE != "B_SHIFT" || MULT_BYPASS != "DISABLED")
            MULT18X18D_MODE_IS_NOT_MODELLED mode ();
    endgenerate
endmodule
