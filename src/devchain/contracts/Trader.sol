// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

interface IPair {
    function token0() external view returns (address);
    function getReserves() external view returns (uint112, uint112, uint32);
    function mint(address to) external returns (uint256);
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

/// What a router does, in the two calls a Uniswap V2 pair needs: pay it, then ask for what is due. Holds the tokens.
contract Trader {
    function addLiquidity(IPair pair, IERC20 a, uint256 amountA, IERC20 b, uint256 amountB) external {
        a.transfer(address(pair), amountA);
        b.transfer(address(pair), amountB);
        pair.mint(address(this));
    }

    /// Sells `amountIn` of `tokenIn` for what the pair gives after its fee of 0.3 %.
    function sell(IPair pair, IERC20 tokenIn, uint256 amountIn) external {
        (uint256 reserve0, uint256 reserve1,) = pair.getReserves();
        bool zeroForOne = pair.token0() == address(tokenIn);
        (uint256 reserveIn, uint256 reserveOut) = zeroForOne ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 paid = amountIn * 997;
        uint256 amountOut = paid * reserveOut / (reserveIn * 1000 + paid);
        tokenIn.transfer(address(pair), amountIn);
        pair.swap(zeroForOne ? 0 : amountOut, zeroForOne ? amountOut : 0, address(this), "");
    }
}
