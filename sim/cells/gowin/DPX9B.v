// Block RAM of Gowin's FPGAs with two ports of 9 or 18 bits, each of which reads and writes.

module DPX9B (
    input CLKA, CEA, OCEA, RESETA, WREA,
    input CLKB, CEB, OCEB, RESETB, WREB,
    input [13:0] ADA, ADB,
    input [2:0] BLKSELA, BLKSELB,
    input [17:0] DIA, DIB,
    output [17:0] DOA, DOB
);
    parameter READ_MODE0 = 1'b0;
    parameter READ_MODE1 = 1'b0;
    parameter WRITE_MODE0 = 2'b00;
    parameter WRITE_MODE1 = 2'b00;
    parameter BIT_WIDTH_0 = 18;
    parameter BIT_WIDTH_1 = 18;
    parameter BLK_SEL_0 = 3'b000;
    parameter BLK_SEL_1 = 3'b000;
    parameter RESET_MODE = "SYNC";
    `GOWIN_INITS

    wire [35:0] doa;
    wire [35:0] dob;
    assign DOA = doa[17:0];
    assign DOB = dob[17:0];
    GOWIN_BLOCK_RAM #(
        .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1),
        .WRITE_MODE_A(WRITE_MODE0), .WRITE_MODE_B(WRITE_MODE1),
        .PIPELINE(READ_MODE0 | READ_MODE1), .RESET_MODE(RESET_MODE), .INIT(`GOWIN_INIT)
    ) memory (
        .CLKA(CLKA), .ENA(CEA && BLKSELA == BLK_SEL_0), .WREA(WREA), .RESETA(RESETA),
        .ADA(ADA), .DIA({18'd0, DIA}), .DOA(doa),
        .CLKB(CLKB), .ENB(CEB && BLKSELB == BLK_SEL_1), .WREB(WREB), .RESETB(RESETB),
        .ADB(ADB), .DIB({18'd0, DIB}), .DOB(dob));
endmodule
