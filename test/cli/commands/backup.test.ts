import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { StatusJson } from '../../../src/status/json.ts'
import { command } from '../../support/command.ts'
import { allDelivered, configured, hostYaml, startDaemon } from '../../support/tidegauge.ts'

it('backup copies the outbox of a running daemon, and a daemon goes on from the copy', async () => {
  const { folder, config } = configured(hostYaml)
  const first = await startDaemon(config)
  const { balance } = await first.status<StatusJson>(allDelivered)
  const copy = join(folder, 'backup.db')
  expect(await command(['backup', copy, '--config', config])).toEqual({
    code: 0,
    stdout: expect.stringMatching(/backup\.db: \d+ KiB, checked and on disk\n$/),
    stderr: '',
  })
  const again = await command(['backup', copy, '--config', config])
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') })
  await first.kill('SIGKILL')

  const data = join(folder, 'data', 'embedded')
  for (const name of readdirSync(data)) if (name.startsWith('outbox.db')) rmSync(join(data, name))
  renameSync(copy, join(data, 'outbox.db'))
  const second = await startDaemon(config)
  expect((await second.status<StatusJson>(allDelivered)).balance.delivered).toBeGreaterThanOrEqual(balance.delivered)
  expect(await second.kill('SIGTERM')).toBe(0)
})
