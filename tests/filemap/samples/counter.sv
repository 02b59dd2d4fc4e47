`define WIDTH 8

package types_pkg;
  typedef enum logic [1:0] {IDLE, BUSY} state_t;
endpackage

interface bus_if(input logic clk);
  logic valid;
  modport master(output valid);
endinterface

// Counts up.
module counter #(parameter N = 8) (input clk, input rst, output reg [N-1:0] q);
  wire enable;

  always @(posedge clk) begin
    if (rst) q <= 0;
    else q <= q + 1;
  end

  function [7:0] next(input [7:0] x);
    next = x + 1;
  endfunction

  task report;
    $display("%d", q);
  endtask

  adder u_adder (.a(q), .b(1));
endmodule

class Driver;
  int count;
  function new(int n);
    count = n;
  endfunction
  task run();
  endtask
endclass
