import { describe, expect, it } from 'vitest'
import { secretPartsOf } from '../../src/model/host.ts'

const key = '0123456789abcdef0123456789abcdef'

describe('the parts of a secret', () => {
  it.each([
    [
      'the whole address, with and without the slash at its end',
      `https://rpc.example.com/v3/${key}/`,
      'https://rpc.example.com/v3/0123456789abcdef0123456789abcdef',
    ],
    ['its path', `https://rpc.example.com/v3/${key}`, `/v3/${key}`],
    ['a part of its path', `https://rpc.example.com/v3/${key}`, key],
    ['its path with its query', 'https://rpc.example.com/v3?key=abcdefgh', '/v3?key=abcdefgh'],
    ['a value of its query', 'https://rpc.example.com/v3?key=abcdefgh', 'abcdefgh'],
    ['a value as it is without percent-encoding', 'https://rpc.example.com/v3?key=abcd%2Fefgh', 'abcd/efgh'],
    ['what follows a hash', 'https://rpc.example.com/#abcdefgh', 'abcdefgh'],
    ['a name', 'https://operator:pass%2Fword@rpc.example.com', 'operator'],
    ['a password, decoded', 'https://operator:pass%2Fword@rpc.example.com', 'pass/word'],
    [
      'both as a header has them',
      'https://operator:pass%2Fword@rpc.example.com',
      btoa('operator:pass/word').replace(/=+$/, ''),
    ],
    ['a key in the host name', `wss://${key}.rpc.example.com`, key],
    ['the words of a header', 'Bearer abcdefgh', 'abcdefgh'],
    ['the value of a cookie', 'session=abcdefgh; path=/', 'abcdefgh'],
  ])('hold %s', (_, secret, part) => {
    expect(secretPartsOf(secret)).toContain(part)
  })

  it.each([
    [
      'words of an address',
      'https://rpc.example.com/v3/mainnet?net=sepolia',
      ['v3', 'mainnet', 'sepolia', 'rpc.example.com'],
    ],
    ['an address that is a host and a port alone', 'https://rpc.example.com:8545/', ['https://rpc.example.com:8545/']],
    ['words of a header', 'Bearer abcdefgh', ['Bearer']],
  ])('do not hold %s', (_, secret, words) => {
    for (const word of words) expect(secretPartsOf(secret)).not.toContain(word)
  })

  it('are the longest first, each once, and as short as is asked for', () => {
    const parts = secretPartsOf('https://rpc.example.com/abcdef?key=abcdef', 6)
    expect(parts).toContain('abcdef')
    expect(parts.map(({ length }) => length)).toEqual(parts.map(({ length }) => length).sort((a, b) => b - a))
    expect(new Set(parts).size).toBe(parts.length)
  })
})
