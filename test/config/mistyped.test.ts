import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { configFile, linesOf } from './file.ts'

// Examples of EIP-55.
const known = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359']
const small = known.map(address => address.toLowerCase())

const written = (address: string) => `service: embedded
chains: { mainnet: { id: 1, rpc: [http://127.0.0.1:8545] } }
prices: { P: [{ fixed: 1 }] }
tokenPrices: { mainnet: [{ "${address}": P }] }
protocols:
  - id: a
    name: A
    collectors: [{ use: ./own.ts, options: { of: [{ holder: "${address}" }] } }]
`

it('accepts an address with its own capital letters, with none, and with those alone', () => {
  for (const address of [...known, ...small, `0x${small[0]?.slice(2).toUpperCase()}`])
    expect(() => loadConfig(configFile(written(address)))).not.toThrow()
})

it.each([
  ['a wrong digit', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee'],
  ['two digits that changed places', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d395'],
  ['a letter in the other case', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
])('refuses an address with %s, in a key and in the options of any collector', (_, address) => {
  const what = `the address ${address} is mistyped: its capital letters do not fit it`
  const fix = 'copy it again; if you know that it is right, write it in small letters'
  expect(linesOf(written(address))).toEqual([
    `4:28: tokenPrices.mainnet[0]["${address}"]: ${what} → ${fix}`,
    `8:61: protocols[0].collectors[0].options.of[0].holder: ${what} → ${fix}`,
  ])
})
