// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The read face of a Chainlink price feed (AggregatorV3Interface), with an answer that anyone may set.
contract Feed {
    uint8 public immutable decimals;
    string public description;
    uint256 public constant version = 1;

    uint80 private _round;
    int256 private _answer;
    uint256 private _updatedAt;

    constructor(string memory description_, uint8 decimals_) {
        description = description_;
        decimals = decimals_;
    }

    function update(int256 answer) external {
        _round += 1;
        _answer = answer;
        _updatedAt = block.timestamp;
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        require(_round > 0, "No data present");
        return (_round, _answer, _updatedAt, _updatedAt, _round);
    }
}
