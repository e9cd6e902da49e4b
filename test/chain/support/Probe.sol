// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// What a contract can do to a reader: answer, refuse in every way, use up all gas.
contract Probe {
    error TooLow(uint256 have, uint256 need);
    event Stored(address indexed by, uint256 amount);

    uint256 public stored;

    function store(uint256 amount) external {
        stored = amount;
        emit Stored(msg.sender, amount);
    }

    function pair() external view returns (uint256 amount, address self) {
        return (stored, address(this));
    }

    function plus(uint256 more) external view returns (uint256) {
        return stored + more;
    }

    function plus(uint256 more, uint256 evenMore) external view returns (uint256) {
        return stored + more + evenMore;
    }

    function divided(uint256 by) external view returns (uint256) {
        return stored / by;
    }

    function refusesInWords() external pure returns (uint256) {
        revert("not today");
    }

    function refusesByError() external view returns (uint256) {
        revert TooLow(stored, 100);
    }

    function refusesSilently() external pure returns (uint256) {
        revert();
    }

    function caller() external view returns (address) {
        return msg.sender;
    }

    function usesAllGas() external view returns (uint256 sum) {
        while (true) sum += gasleft();
    }
}
