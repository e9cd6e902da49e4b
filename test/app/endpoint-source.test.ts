import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { endpointSource } from '../../src/app/open-chains.ts'
import { Fault } from '../../src/model/fault.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { temporaryFolder } from '../support/folder.ts'

it('a missing address is said once, with its place, and once more when it is there', () => {
  const path = join(temporaryFolder(), 'rpc_url')
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: line => lines.push(line) })
  const redactor = new Redactor()
  const place = { file: '/etc/tidegauge.yaml', line: 5, column: 12 }
  const source = endpointSource('ethereum', { kind: 'file', path, place, batchCallsMax: 7 }, { log, redactor })
  if (typeof source === 'string' || !('read' in source)) throw new Error('its address is kept elsewhere')
  const looked = () => {
    try {
      return source.read()
    } catch (error) {
      return error instanceof Fault ? error.message : error
    }
  }

  expect(source.name).toBe('rpc_url')
  expect(looked()).toBe("the secret's file does not exist (/etc/tidegauge.yaml:5:12)")
  looked()
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    chain: 'ethereum',
    endpoint: 'rpc_url',
    reason: "the secret's file does not exist (/etc/tidegauge.yaml:5:12)",
    fix: 'put the secret there, readable for this process',
    msg: 'RPC endpoint cannot serve',
  })
  writeFileSync(path, ' \n')
  expect(looked()).toContain('is empty')
  writeFileSync(path, 'https://n.example.com/v2/0123456789abcdef\n')
  expect(looked()).toEqual({ url: 'https://n.example.com/v2/0123456789abcdef', batchCallsMax: 7 })
  looked()
  expect(lines.map(line => JSON.parse(line)['msg'])).toEqual([
    'RPC endpoint cannot serve',
    'RPC endpoint cannot serve',
    'RPC endpoint can serve now',
  ])
  expect(redactor.redact('at 0123456789abcdef')).toBe('at [redacted]')
})
