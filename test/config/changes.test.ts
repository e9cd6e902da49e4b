import { describe, expect, it } from 'vitest'
import { changesOf } from '../../src/config/changes.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configFile } from './file.ts'

const configOf = (text: string) => loadConfig(configFile(text))

const before = `service: embedded
chains:
  ethereum: { id: 1, rpc: [http://127.0.0.1:8545] }
  base: { id: 8453, rpc: [http://127.0.0.1:8546] }
protocols:
  - { id: a, name: A, collectors: [{ use: host }, { use: other, options: { x: 1 } }] }
  - { id: b, name: B, collectors: [{ use: host }] }
`

describe('what another configuration changes', () => {
  it('is nothing where only comments and places differ', () => {
    expect(changesOf(configOf(before), configOf(`# a comment\n\n${before}`))).toEqual([])
  })

  it('is named: protocols, collectors, chains and sections', () => {
    const after = before
      .replace('name: A', 'name: Alpha')
      .replace('x: 1', 'x: 2')
      .replace('- { id: b, name: B,', '- { id: c, name: B,')
      .replace('base: { id: 8453', 'base: { id: 8454')
      .replace(
        'service: embedded',
        'service: embedded\nlog: { level: debug }\nheartbeat: { url: { env: BEAT } }\nnotify: [{ slack: { env: S } }]',
      )
    expect(changesOf(configOf(before), configOf(after))).toEqual([
      'protocol c added',
      'protocol b removed',
      'protocol a changed',
      'collector c/host added',
      'collector b/host removed',
      'collector a/other changed',
      'chain base changed',
      'log changed',
      'heartbeat changed',
      'notify changed',
    ])
  })
})
