// Block RAM of Gowin's FPGAs with a port A that writes and a port B that reads, of 9, 18 or 36 bits each.

module SDPX9B (
    input CLKA, CEA, RESETA,
    input CLKB, CEB, OCE, RESETB,
    input [13:0] ADA, ADB,
    input [2:0] BLKSELA, BLKSELB,
    input [35:0] DI,
    output [35:0] DO
);
    parameter READ_MODE = 1'b0;
    parameter BIT_WIDTH_0 = 36;
    parameter BIT_WIDTH_1 = 36;
    parameter BLK_SEL_0 = 3'b000;
    parameter BLK_SEL_1 = 3'b000;
    parameter RESET_MODE = "SYNC";
    `GOWIN_INITS

    GOWIN_BLOCK_RAM #(
        .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1),
        .PIPELINE(READ_MODE), .RESET_MODE(RESET_MODE), .INIT(`GOWIN_INIT)
    ) memory (
        .CLKA(CLKA), .ENA(CEA && BLKSELA == BLK_SEL_0), .WREA(1'b1), .RESETA(RESETA),
        .ADA(ADA), .DIA(DI), .DOA(),
        .CLKB(CLKB), .ENB(CEB && BLKSELB == BLK_SEL_1), .WREB(1'b0), .RESETB(RESETB),
        .ADB(ADB), .DIB(36'd0), .DOB(DO));
endmodule
