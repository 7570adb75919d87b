// Block RAM of the ECP5: 18 kbit, two ports of 1, 2, 4, 9 or 18 bits, or one port for reading and one
// for writing of 36.
//
// An address counts bits, 16 to each 18-bit word: the two that are left over are the ninth bits of its
// halves, which ports of 1, 2 and 4 bits do not reach. Ports of 18 and 36 bits take write enables for
// each 9 bits in place of the lowest bits of the address. With 36 bits, port A writes and port B reads,
// the lower half through the pins of A and the upper half through those of B.
//
// A reset clears what its port reads, whatever the enables are, and blocks what the port would write.
// With 36 bits, that of B clears both halves. Which of them wins is as Yosys takes it to be:
// `ungated block_wr` in its lattice/brams_16kd.txt.
//
// Modelled is what Yosys uses: no output registers, and so no enables of them, clocks of one edge,
// synchronous resets. Other modes name a module that does not exist, so that no netlist uses them
// unseen; sim/simulators/netlist.py refuses netlists whose chip selects, or resets that are not
// synchronous, are not 0. (Yosys may choose any RESETMODE where there is no reset.)
// Source: Lattice, ECP5 and ECP5-5G Memory Usage Guide (FPGA-TN-02204).

module DP16KD (
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
    DIA4, DIA3, DIA2, DIA1, DIA0,
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1,
    ADA0,
    input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
    DOA4, DOA3, DOA2, DOA1, DOA0,
    input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5,
    DIB4, DIB3, DIB2, DIB1, DIB0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1,
    ADB0,
    input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
    DOB4, DOB3, DOB2, DOB1, DOB0
);
    parameter DATA_WIDTH_A = 18;
    parameter DATA_WIDTH_B = 18;
    parameter REGMODE_A = "NOREG";
    parameter REGMODE_B = "NOREG";
    parameter RESETMODE = "SYNC";
    parameter ASYNC_RESET_RELEASE = "SYNC";
    parameter CSDECODE_A = "0b000";
    parameter CSDECODE_B = "0b000";
    parameter WRITEMODE_A = "NORMAL";
    parameter WRITEMODE_B = "NORMAL";
    parameter CLKAMUX = "CLKA";
    parameter CLKBMUX = "CLKB";
    parameter GSR = "ENABLED";
    parameter [319:0] INITVAL_00 = 0;
    parameter [319:0] INITVAL_01 = 0;
    parameter [319:0] INITVAL_02 = 0;
    parameter [319:0] INITVAL_03 = 0;
    parameter [319:0] INITVAL_04 = 0;
    parameter [319:0] INITVAL_05 = 0;
    parameter [319:0] INITVAL_06 = 0;
    parameter [319:0] INITVAL_07 = 0;
    parameter [319:0] INITVAL_08 = 0;
    parameter [319:0] INITVAL_09 = 0;
    parameter [319:0] INITVAL_0A = 0;
    parameter [319:0] INITVAL_0B = 0;
    parameter [319:0] INITVAL_0C = 0;
    parameter [319:0] INITVAL_0D = 0;
    parameter [319:0] INITVAL_0E = 0;
    parameter [319:0] INITVAL_0F = 0;
    parameter [319:0] INITVAL_10 = 0;
    parameter [319:0] INITVAL_11 = 0;
    parameter [319:0] INITVAL_12 = 0;
    parameter [319:0] INITVAL_13 = 0;
    parameter [319:0] INITVAL_14 = 0;
    parameter [319:0] INITVAL_15 = 0;
    parameter [319:0] INITVAL_16 = 0;
    parameter [319:0] INITVAL_17 = 0;
    parameter [319:0] INITVAL_18 = 0;
    parameter [319:0] INITVAL_19 = 0;
    parameter [319:0] INITVAL_1A = 0;
    parameter [319:0] INITVAL_1B = 0;
    parameter [319:0] INITVAL_1C = 0;
    parameter [319:0] INITVAL_1D = 0;
    parameter [319:0] INITVAL_1E = 0;
    parameter [319:0] INITVAL_1F = 0;
    parameter [319:0] INITVAL_20 = 0;
    parameter [319:0] INITVAL_21 = 0;
    parameter [319:0] INITVAL_22 = 0;
    parameter [319:0] INITVAL_23 = 0;
    parameter [319:0] INITVAL_24 = 0;
    parameter [319:0] INITVAL_25 = 0;
    parameter [319:0] INITVAL_26 = 0;
    parameter [319:0] INITVAL_27 = 0;
    parameter [319:0] INITVAL_28 = 0;
    parameter [319:0] INITVAL_29 = 0;
    parameter [319:0] INITVAL_2A = 0;
    parameter [319:0] INITVAL_2B = 0;
    parameter [319:0] INITVAL_2C = 0;
    parameter [319:0] INITVAL_2D = 0;
    parameter [319:0] INITVAL_2E = 0;
    parameter [319:0] INITVAL_2F = 0;
    parameter [319:0] INITVAL_30 = 0;
    parameter [319:0] INITVAL_31 = 0;
    parameter [319:0] INITVAL_32 = 0;
    parameter [319:0] INITVAL_33 = 0;
    parameter [319:0] INITVAL_34 = 0;
    parameter [319:0] INITVAL_35 = 0;
    parameter [319:0] INITVAL_36 = 0;
    parameter [319:0] INITVAL_37 = 0;
    parameter [319:0] INITVAL_38 = 0;
    parameter [319:0] INITVAL_39 = 0;
    parameter [319:0] INITVAL_3A = 0;
    parameter [319:0] INITVAL_3B = 0;
    parameter [319:0] INITVAL_3C = 0;
    parameter [319:0] INITVAL_3D = 0;
    parameter [319:0] INITVAL_3E = 0;
    parameter [319:0] INITVAL_3F = 0;

    wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
        DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5,
        DIB4, DIB3, DIB2, DIB1, DIB0};
    wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
    wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};

    localparam [64*320-1:0] INIT = {
        INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C,
        INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
        INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34,
        INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
        INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C,
        INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
        INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24,
        INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
        INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C,
        INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
        INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14,
        INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
        INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C,
        INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
        INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
        INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
    };

    // Where a port's bits begin in their word, and which bits of it a write replaces.
    function [4:0] place (input integer width, input [13:0] address);
        case (width)
            1: place = 9 * address[3] + address[2:0];
            2: place = 9 * address[3] + 2 * address[2:1];
            4: place = 9 * address[3] + 4 * address[2];
            9: place = 9 * address[3];
            default: place = 0;
        endcase
    endfunction

    function [17:0] replaced (input integer width, input [13:0] address);
        if (width >= 18)
            replaced = {{9{address[1]}}, {9{address[0]}}};
        else
            replaced = ((18'd1 << width) - 18'd1) << place(width, address);
    endfunction

    function [17:0] read (input integer width, input [13:0] address, input [17:0] from);
        if (width >= 18)
            read = from;
        else
            read = (from >> place(width, address)) & ((18'd1 << width) - 18'd1);
    endfunction

    reg [17:0] words [0:1023];
    integer number;
    initial
        for (number = 0; number < 1024; number = number + 1)
            words[number] = INIT[20 * number +: 18];

    reg [17:0] doa = 0;
    reg [17:0] dob = 0;
    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6,
    DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = doa;
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6,
    DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = dob;

    generate
        if (DATA_WIDTH_A == 36 && DATA_WIDTH_B == 36) begin
            wire [17:0] lower = {{9{ada[1]}}, {9{ada[0]}}};
            wire [17:0] upper = {{9{ada[3]}}, {9{ada[2]}}};
            wire [9:0] row = {ada[13:5], 1'b0};
            always @(posedge CLKA)
                if (CEA & WEA & ~RSTA) begin
                    words[row] <= (words[row] & ~lower) | (dia & lower);
                    words[row | 1] <= (words[row | 1] & ~upper) | (dib & upper);
                end
            always @(posedge CLKB)
                if (RSTB) begin
                    doa <= 0;
                    dob <= 0;
                end else if (CEB) begin
                    doa <= words[{adb[13:5], 1'b0}];
                    dob <= words[{adb[13:5], 1'b1}];
                end
        end else if (DATA_WIDTH_A <= 18 && DATA_WIDTH_B <= 18) begin
            // Bit by bit, since both ports may write to one word.
            integer bit_a;
            integer bit_b;
            wire [17:0] mask_a = replaced(DATA_WIDTH_A, ada);
            wire [17:0] mask_b = replaced(DATA_WIDTH_B, adb);
            wire [17:0] old_a = words[ada[13:4]];
            wire [17:0] old_b = words[adb[13:4]];
            wire [17:0] new_a = (old_a & ~mask_a) | ((dia << place(DATA_WIDTH_A, ada)) & mask_a);
            wire [17:0] new_b = (old_b & ~mask_b) | ((dib << place(DATA_WIDTH_B, adb)) & mask_b);
            always @(posedge CLKA)
                if (RSTA)
                    doa <= 0;
                else if (CEA) begin
                    if (WEA)
                        for (bit_a = 0; bit_a < 18; bit_a = bit_a + 1)
                            if (mask_a[bit_a]) words[ada[13:4]][bit_a] <= new_a[bit_a];
                    if (!WEA || WRITEMODE_A == "READBEFOREWRITE")
                        doa <= read(DATA_WIDTH_A, ada, old_a);
                    else if (WRITEMODE_A == "WRITETHROUGH")
                        doa <= read(DATA_WIDTH_A, ada, new_a);
                end
            always @(posedge CLKB)
                if (RSTB)
                    dob <= 0;
                else if (CEB) begin
                    if (WEB)
                        for (bit_b = 0; bit_b < 18; bit_b = bit_b + 1)
                            if (mask_b[bit_b]) words[adb[13:4]][bit_b] <= new_b[bit_b];
                    if (!WEB || WRITEMODE_B == "READBEFOREWRITE")
                        dob <= read(DATA_WIDTH_B, adb, old_b);
                    else if (WRITEMODE_B == "WRITETHROUGH")
                        dob <= read(DATA_WIDTH_B, adb, new_b);
                end
        end else
            DP16KD_WIDTHS_ARE_NOT_MODELLED widths ();

        if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CSDECODE_A != "0b000"
            || CSDECODE_B != "0b000" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB")
            DP16KD_MODE_IS_NOT_MODELLED mode ();
    endgenerate
endmodule
