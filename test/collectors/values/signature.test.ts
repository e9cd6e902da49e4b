import { parseAbiItem, toEventSignature, toFunctionSignature } from 'viem'
import { describe, expect, it } from 'vitest'
import { OptionEntryMistake } from '../../../collectors/values/mistake.ts'
import { parsedSignature } from '../../../collectors/values/signature.ts'

const state = 'state() view returns ((uint256 supply, uint256[] debts) s)'
const pots = 'pots(uint256 place, address owner) view returns (uint256 size, (bool on, uint8 kind)[2] flags)'

describe('a signature', () => {
  it.for([
    ['state() view returns (tuple(uint256 supply, uint256[] debts) s)', state],
    ['function a() external view virtual override returns (string memory) ;', 'a() view returns (string)'],
    ['function state ()\n    external\n    view\n    returns ((uint256 supply,uint256 [] debts) memory s);', state],
    [
      'state()public view override( IState , Base )returns(tuple (uint256 supply,uint256[] debts) s) { return s; }',
      state,
    ],
    [
      'pots ( uint256  place,\taddress payable owner ) view  returns (uint256 size, tuple( bool on , uint8 kind )[2] flags)',
      pots,
    ],
    [
      'function pots(\n  uint256 place, // of the pot\n  address owner /* of it */\n) view returns (uint256 size, (bool on, uint8 kind)[2] flags)',
      pots,
    ],
    ['name() constant returns (string)', 'name() view returns (string)'],
    ['  function\n totalSupply()  view returns (uint256);', 'totalSupply() view returns (uint256)'],
    [
      'viewOf(uint256 publicKey, uint256 overrides) view returns (uint256 memoryUsed)',
      'viewOf(uint256 publicKey, uint256 overrides) view returns (uint256 memoryUsed)',
    ],
  ])('of a function is understood as it is pasted: %j', ([pasted = '', meant = '']) => {
    const parsed = parsedSignature('function', pasted, 'call', 'must be one')
    expect(parsed).toEqual(parseAbiItem(`function ${meant}` as string))
    expect(toFunctionSignature(parsed)).not.toContain(' ')
  })

  it.for([
    'Transfer (address indexed from, address indexed to, uint256 value)',
    'event Transfer(\n  address indexed from,\n  address indexed to,\n  uint256 value\n);',
    'Transfer(address  indexed from,address indexed  to,uint256 value) ;',
  ])('of an event is understood as it is pasted: %j', pasted => {
    const transfer = parsedSignature('event', pasted, 'event', 'must be one')
    expect(transfer).toEqual(parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'))
    expect(toEventSignature(transfer)).toBe('Transfer(address,address,uint256)')
  })

  it.for([
    ['price(IERC20 token) view returns (uint256)', '"IERC20" is no type of an ABI: a contract is an address'],
    ['price() internal view returns (uint256)', '"internal" is not understood'],
    ['price() view onlyOwner returns (uint256)', '"onlyOwner" is not understood'],
    ['price() view returns uint256', 'write what it returns in brackets'],
    ['price() view returns (uint256', 'a bracket is not closed'],
    ['price(uint256 in) view returns (uint256)', '"in" cannot be a name'],
    ['price() view returns (mapping(address => uint256))', 'mapping(address => uint256)'],
    ['price', 'must be one'],
  ])('that is wrong names what is not understood: %s', ([pasted = '', words = '']) => {
    const parsed = () => parsedSignature('function', pasted, 'call', 'must be one')
    expect(parsed).toThrow(OptionEntryMistake)
    expect(parsed).toThrow(words)
  })
})
