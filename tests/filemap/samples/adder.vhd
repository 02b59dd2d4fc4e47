library ieee;
use ieee.std_logic_1164.all;

package util is
  constant WIDTH : integer := 8;
  function twice(x : integer) return integer;
end package;

package body util is
  function twice(x : integer) return integer is
  begin
    return x * 2;
  end function;
end package body;

-- Adds two numbers.
entity adder is
  port (a, b : in std_logic; s : out std_logic);
end entity adder;

architecture rtl of adder is
  signal carry : std_logic;
  type state_t is (idle, busy);
begin
  main : process (a, b)
  begin
    s <= a xor b;
  end process;

  u1 : entity work.util port map (a => a);
end architecture rtl;
