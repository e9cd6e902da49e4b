import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { anHour } from '../../support/metrics.ts'
import { type Given, stage } from '../stage.ts'

const one: Given = { metrics: { TVL: { unit: 'USD' } }, values: { TVL: 12.5 } }

it('lists shows what is remembered of each list, forgets it, and knows the lists there are', async () => {
  const { run, read, config } = await stage(one)
  const text = readFileSync(config, 'utf8')
  const fixed = `{ chain: local, fixed: ["0x${'ab'.repeat(20)}"] }`
  writeFileSync(
    config,
    `${text}\nchains: { local: { id: 1, rpc: ["http://127.0.0.1:9"] } }\nlists: { pools: ${fixed}, vaults: ${fixed} }\n`,
  )
  expect((await run('lists')).stdout).toContain('nothing is remembered of pools, vaults')

  const outbox = new SqliteOutbox(join(dirname(config), '..', 'data', 'outbox.db'))
  const items = Array.from({ length: 1_200 }, (_, place) => `0x${place.toString(16).padStart(40, '0')}` as const)
  await outbox.lists.save({
    ...{ name: 'pools', digest: 'd', hour: anHour, items, block: { number: 77n, hash: `0x${'1f'.repeat(32)}` } },
    ...{ sinceMs: 1_700_000_000_000, rereadMs: 0, rereadTo: anHour, doubtedMs: 0 },
  })
  await outbox.close()
  const { stdout } = await run('lists', 'ls')
  expect(stdout).toMatch(/^list +items +read since +as of +block\npools +1,200 +2023-11-14T22:13:20Z +\S+Z +77\n/)
  expect(stdout).toContain('nothing is remembered of vaults')
  expect(await read('lists', 'ls')).toMatchObject([
    { name: 'pools', items: 1_200, since: '2023-11-14T22:13:20Z', block: 77 },
  ])

  expect((await run('doctor')).stdout).toMatch(
    /list pools: 1,?200 items, remembered since 2023-11-14T22:13:20Z, as of \S+Z, block 77/,
  )
  expect((await run('lists', 'forget', 'pools')).stdout).toBe('the list pools is read from its beginning\n')
  expect((await run('lists', 'forget', 'pools')).stdout).toBe('nothing is remembered of pools\n')
  expect(await run('lists', 'forget', 'ponds')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('configured are: pools, vaults'),
  })
})
