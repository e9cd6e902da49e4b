import { expect, it } from 'vitest'
import type { OptionMistake } from '../../src/config/config.ts'
import { optionMistakes } from '../../src/config/explain.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configFile } from './file.ts'

const text = `service: embedded
protocols:
  - id: a
    name: A
    collectors:
      - use: erc4626-vault
        options:
          chain: 5
          vualt: "0x00"
          colour: red
          nested: { a: 1 }
`

function linesOf(mistakes: readonly OptionMistake[]): string[] {
  const collector = loadConfig(configFile(text)).protocols[0]?.collectors[0]
  if (!collector) throw new Error('no collector')
  return optionMistakes(collector, mistakes).map(({ place, message, fix }) => {
    return `${place.line}:${place.column}: ${message}${fix === undefined ? '' : ` → ${fix}`}`
  })
}

it('puts what a collector says of its options at their places', () => {
  expect(
    linesOf([
      { path: ['chain'], message: 'must be text, not a number' },
      { path: ['vault'], message: 'must be an address in quotes: 0x and 40 hexadecimal digits' },
      { path: ['vualt'], message: 'unknown option "vualt"' },
      { path: ['colour'], message: 'unknown option "colour"' },
      { path: ['nested', 'b'], message: 'must be a number' },
      { path: ['nested', 'a'], message: 'must be even' },
    ]),
  ).toEqual([
    '8:18: options.chain: must be text, not a number',
    '9:11: unknown option "vualt" of erc4626-vault → did you mean "vault"?',
    '10:11: unknown option "colour" of erc4626-vault → erc4626-vault has no such option',
    '11:11: missing: options.nested.b of erc4626-vault → add it: a number',
    '11:24: options.nested.a: must be even',
  ])
})

it('says nothing of a map as a whole in which an option is mistyped', () => {
  const knownNames = ['token', 'price']
  expect(
    linesOf([
      { path: ['nested'], message: 'must have a price' },
      { path: ['nested', 'prize'], message: 'unknown option "prize"', knownNames },
    ]),
  ).toEqual(['11:11: unknown option "prize" of erc4626-vault → did you mean "price"?'])
  expect(
    linesOf([
      { path: ['nested'], message: 'must have a price' },
      { path: ['nested', 'colour'], message: 'unknown option "colour"', knownNames },
    ]),
  ).toHaveLength(2)
})

it('compares an unknown option with all that there are', () => {
  const knownNames = ['chain', 'vault', 'unit']
  expect(
    linesOf([
      { path: ['vualt'], message: 'unknown option "vualt"', knownNames },
      { path: ['colour'], message: 'unknown option "colour"', knownNames },
    ]),
  ).toEqual([
    '9:11: unknown option "vualt" of erc4626-vault → did you mean "vault"?',
    '10:11: unknown option "colour" of erc4626-vault → known here: chain, vault, unit',
  ])
})

it('names derived to somebody who looks for a window of hours', () => {
  const mistake = { path: ['hours'], message: 'unknown option "hours"', knownNames: ['chain', 'vault'] }
  expect(linesOf([mistake])).toEqual([
    expect.stringMatching(
      /unknown option "hours" .* → known here: chain, vault; windows of hours are for use: derived$/,
    ),
  ])
})
