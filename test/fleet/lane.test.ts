import { describe, expect, it } from 'vitest'
import { isMachineBound, type LaneCollector, laneOf, workedLanes } from '../../src/fleet/lane.ts'

describe('the lane of a collector', () => {
  it.each<[what: string, collector: LaneCollector, lane: string]>([
    ['the chain that its options name', { use: 'erc4626-vault', options: { chain: 'ethereum' } }, 'ethereum'],
    ['the first of a list of chains', { use: './own.ts', options: { chains: ['base', 'ethereum'] } }, 'base'],
    [
      'the first key of a map by chain',
      { use: 'balances', options: { label: 'T', of: { base: { owners: [] }, ethereum: { owners: [] } } } },
      'base',
    ],
    ['a chain deep in its options', { use: './own.ts', options: { pools: [{ at: { chain: 'base' } }] } }, 'base'],
    ['web without a chain', { use: 'http-json', options: { url: 'https://a.example' } }, 'web'],
    ['web without options', { use: './own.ts', options: undefined }, 'web'],
    ['web where the chain is no name', { use: './own.ts', options: { chain: 7 } }, 'web'],
    ['the own machine of host', { use: 'host', options: {} }, 'machine/eu-1'],
    ['the machine that the entry of host names', { use: 'host', options: {}, machine: 'us-1' }, 'machine/us-1'],
    ['the machine that an entry names', { use: 'sql', options: { chain: 'base' }, machine: 'us-1' }, 'machine/us-1'],
  ])('is %s', (_, collector, lane) => {
    expect(laneOf(collector, 'eu-1')).toBe(lane)
  })

  it('stays on the first machine for host alone, unless its entry names one', () => {
    expect(isMachineBound({ use: 'host' })).toBe(true)
    expect(isMachineBound({ use: 'host', machine: 'us-1' })).toBe(false)
    expect(isMachineBound({ use: './host.ts' })).toBe(false)
  })
})

describe('the lanes that a daemon works', () => {
  const name = 'eu-1'

  it('are the chains that answer, web and its machine', () => {
    const lanes = workedLanes({ name, configured: undefined, chains: ['ethereum', 'base'] })
    expect(lanes).toEqual(['ethereum', 'base', 'web', 'machine/eu-1'])
    expect(workedLanes({ name, configured: undefined, chains: [] })).toEqual(['web', 'machine/eu-1'])
  })

  it('are those that its configuration names, each once, and its machine in any case', () => {
    const configured = ['base', 'machine/eu-1', 'base']
    expect(workedLanes({ name, configured, chains: ['ethereum', 'base'] })).toEqual(['base', 'machine/eu-1'])
    expect(workedLanes({ name, configured: [], chains: ['ethereum'] })).toEqual(['machine/eu-1'])
  })
})
