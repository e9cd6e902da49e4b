// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A list of addresses that are added, removed, overwritten and moved, as in an EnumerableSet and worse.
contract Registry {
    address[] private items;

    event Added(address item);

    function itemOf(uint256 number) public pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(number)))));
    }

    function add(uint256 from, uint256 count) external {
        for (uint256 number = from; number < from + count; number++) {
            items.push(itemOf(number));
            emit Added(itemOf(number));
        }
    }

    /// The last item takes the place of the removed one.
    function remove(uint256 place) external {
        items[place] = items[items.length - 1];
        items.pop();
    }

    function put(uint256 place, uint256 number) external {
        items[place] = itemOf(number);
        emit Added(items[place]);
    }

    function swap(uint256 place, uint256 other) external {
        (items[place], items[other]) = (items[other], items[place]);
    }

    function length() external view returns (uint256) {
        return items.length;
    }

    function itemAt(uint256 place) external view returns (address) {
        return items[place];
    }

    function all() external view returns (address[] memory) {
        return items;
    }

    /// Different for nearly all items, so that the sum shows which are there.
    function weight(address item) external pure returns (uint256) {
        return uint160(item) % 1_000_003;
    }
}
