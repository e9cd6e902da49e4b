import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { otherConfiguration } from '../../src/cli/other-configuration.ts'
import { loadConfig } from '../../src/config/load.ts'
import { takeDeliveryRole } from '../../src/outbox/roles.ts'
import { command } from '../support/command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour } from '../support/metrics.ts'

interface Written {
  readonly path?: string
  readonly url?: string
  readonly id?: string
  readonly data?: string
  readonly more?: string
}

/** Writes a configuration of a protocol below a folder. @returns its path */
function written(folder: string, { path = 'one/tidegauge.yaml', ...parts }: Written): string {
  const { url = 'https://m.example.com', id = 'vault', data, more = '' } = parts
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  const protocols = `protocols: [{ id: ${id}, name: V, collectors: [{ use: host }] }]`
  const place = data === undefined ? '' : `data: ${data}\n`
  writeFileSync(file, `service: { url: "${url}", key: { env: METRICS_KEY } }\n${place}${protocols}\n${more}`)
  return file
}

const isThere = (): void => {}
const isGone = (file: string): void => rmSync(file)

it.each<[which: string, other: Written, then: (file: string) => void, isShared: boolean]>([
  ['one in a folder next to its own, with the same default', { path: 'two/tidegauge.yaml' }, isThere, true],
  ['one of other protocols next to it', { path: 'one/other.yaml', id: 'market' }, isThere, true],
  ['one of another service next to it', { path: 'one/other.yaml', url: 'https://n.example.com' }, isThere, true],
  ['itself, edited since', { id: 'market', url: 'https://n.example.com' }, isThere, false],
  ['itself, before it was moved', { path: 'two/tidegauge.yaml' }, isGone, false],
  ['a copy next to it, to try an edit', { path: 'one/new.yaml', more: 'delivery: { pace: 1 }\n' }, isThere, false],
  ['one with mistakes', { path: 'two/tidegauge.yaml', more: 'dataa: x\n' }, isThere, false],
])('a data folder that was used last by %s', (_, other, then, isShared) => {
  const folder = temporaryFolder()
  const before = written(folder, other)
  takeDeliveryRole(join(folder, 'data'), before, anHour).release()
  then(before)
  const found = otherConfiguration(loadConfig(written(folder, {})))
  if (isShared)
    expect(found?.message).toContain(`is also that of ${before}, which used it last (2026-11-20T13:00:00.000Z)`)
  else expect(found).toBeUndefined()
})

it('a data folder that another configuration has left is no longer shared', () => {
  const folder = temporaryFolder()
  const before = written(folder, { path: 'two/tidegauge.yaml' })
  takeDeliveryRole(join(folder, 'data'), before, anHour).release()
  written(folder, { path: 'two/tidegauge.yaml', data: './own' })
  expect(otherConfiguration(loadConfig(written(folder, {})))).toBeUndefined()
})

it('check says that a data folder is shared, and what to do', async () => {
  const folder = temporaryFolder()
  takeDeliveryRole(join(folder, 'data'), written(folder, { path: 'two/tidegauge.yaml' }), anHour).release()
  const { code, stderr } = await command(['check', '--config', written(folder, {})], { METRICS_KEY: 'k'.repeat(32) })
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/two\/tidegauge\.yaml, which used it last/),
  })
  expect(stderr).toContain('give one of them a folder of its own')
})
