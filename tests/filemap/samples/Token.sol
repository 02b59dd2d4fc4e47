// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

import "./Base.sol";

interface IToken {
    function total() external view returns (uint256);
}

/// A token.
contract Token is Base, IToken {
    struct Holder {
        address owner;
        uint256 amount;
    }
    enum State { Open, Closed }

    uint256 public constant LIMIT = 10;
    mapping(address => uint256) private balances;

    event Moved(address indexed from, uint256 amount);
    error TooMuch(uint256 wanted);

    modifier onlyOwner() {
        _;
    }

    constructor(uint256 supply) {
        balances[msg.sender] = supply;
    }

    function move(address to, uint256 amount) public onlyOwner returns (bool) {
        return true;
    }

    receive() external payable {}
}

library Numbers {
    function max(uint a, uint b) internal pure returns (uint) {
        return a > b ? a : b;
    }
}
