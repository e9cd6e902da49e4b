import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ListFiles } from '../../src/app/list-files.ts'
import type { Config } from '../../src/config/config.ts'
import { parseHour } from '../../src/model/hour.ts'
import { configured } from '../runner/setup.ts'
import { temporaryFolder } from '../support/folder.ts'

const chainsOf = (id: number): Config['chains'] => [{ name: 'one', id, rpc: [], settleMs: 0 }]
const list = configured('list', { id: 'list pools', options: { chain: 'one', event: 'Made(address pool)' } })
const memory = {
  hour: parseHour('2026-11-20T13:00:00Z'),
  items: [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`] as const,
  blocks: [7, 19],
}

it('a list that was kept is read, and nothing of another one or of damaged text', async () => {
  const folder = temporaryFolder()
  const at = (id = 1) => new ListFiles({ data: { kind: 'folder', folder } as Config['data'], chains: chainsOf(id) })
  await at().write(list, memory)
  expect(await at().read(list)).toEqual(memory)
  expect(await at(2).read(list)).toBeUndefined()
  expect(
    await at().read({ ...list, options: { ...Object(list.options), event: 'Born(address pool)' } }),
  ).toBeUndefined()

  expect(readdirSync(join(folder, 'lists'))).toEqual(['pools.json'])
  const file = join(folder, 'lists/pools.json')
  const text = readFileSync(file, 'utf8')
  const damaged = [
    text.slice(0, -1),
    '',
    '[]',
    text.replace('abab', 'abac'),
    text.replace('19', '18'),
    text.replace('13:', '14:'),
  ]
  for (const other of damaged) {
    writeFileSync(file, other)
    expect(await at().read(list), other).toBeUndefined()
  }
})
