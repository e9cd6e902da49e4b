// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20, IERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// Two tokens, of which one buys the other. Has what readers and routers use of a Uniswap V2 pair: pay it, then call it.
contract Pair is ERC20 {
    address public immutable factory;
    address public immutable token0;
    address public immutable token1;

    uint112 private _reserve0;
    uint112 private _reserve1;
    uint32 private _lastSeconds;

    event Mint(address indexed sender, uint256 amount0, uint256 amount1);
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
    );
    event Sync(uint112 reserve0, uint112 reserve1);

    constructor(address lower, address higher) ERC20("Pair Share", "PAIR") {
        (factory, token0, token1) = (msg.sender, lower, higher);
    }

    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast) {
        return (_reserve0, _reserve1, _lastSeconds);
    }

    /// Shares for what was paid: as large a part of all shares as it is of the reserves.
    function mint(address to) external returns (uint256 shares) {
        (uint256 balance0, uint256 balance1) = _balances();
        (uint256 paid0, uint256 paid1) = (balance0 - _reserve0, balance1 - _reserve1);
        shares = totalSupply() == 0
            ? Math.sqrt(paid0 * paid1)
            : Math.min(paid0 * totalSupply() / _reserve0, paid1 * totalSupply() / _reserve1);
        require(shares > 0, "nothing was paid");
        _mint(to, shares);
        _keep(balance0, balance1);
        emit Mint(msg.sender, paid0, paid1);
    }

    /// Gives what was asked for, if the product of the reserves, without 0.3 % of what was paid, is no smaller for it.
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata) external {
        if (amount0Out > 0) IERC20(token0).transfer(to, amount0Out);
        if (amount1Out > 0) IERC20(token1).transfer(to, amount1Out);
        (uint256 balance0, uint256 balance1) = _balances();
        uint256 paid0 = balance0 + amount0Out - _reserve0;
        uint256 paid1 = balance1 + amount1Out - _reserve1;
        uint256 product = (balance0 * 1000 - paid0 * 3) * (balance1 * 1000 - paid1 * 3);
        require(product >= uint256(_reserve0) * _reserve1 * 1_000_000, "too little was paid");
        _keep(balance0, balance1);
        emit Swap(msg.sender, paid0, paid1, amount0Out, amount1Out, to);
    }

    function _balances() private view returns (uint256, uint256) {
        return (IERC20(token0).balanceOf(address(this)), IERC20(token1).balanceOf(address(this)));
    }

    function _keep(uint256 balance0, uint256 balance1) private {
        require(Math.max(balance0, balance1) <= type(uint112).max, "too much was paid");
        (_reserve0, _reserve1, _lastSeconds) = (uint112(balance0), uint112(balance1), uint32(block.timestamp));
        emit Sync(_reserve0, _reserve1);
    }
}
