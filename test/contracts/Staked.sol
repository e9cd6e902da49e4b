// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A liquid staking token as its holders see it: what one is worth grows, and anyone may say how much.
contract Staked is ERC20 {
    uint256 public getExchangeRate = 1 ether;

    constructor() ERC20("Staked Ether", "stETH") {}

    function update(uint256 rate) external {
        getExchangeRate = rate;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
