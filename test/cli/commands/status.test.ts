import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { configured, hostYaml } from '../../support/tidegauge.ts'

const pageBytes = 4_096

it('status salvages an outbox with damaged pages when it meets them, and reads again', async () => {
  const { folder, config } = configured(hostYaml)
  await command(['collect', '--config', config])
  const data = join(folder, 'data', 'embedded')
  const file = join(data, 'outbox.db')
  const bytes = readFileSync(file)
  bytes.fill(0x5a, pageBytes)
  writeFileSync(file, bytes)
  const { stdout, stderr } = await command(['status', '--config', config])
  expect(readdirSync(data)).toContainEqual(expect.stringMatching(/^outbox\.db\.corrupt-/))
  expect(stderr).toContain('"aside":')
  expect(stdout).toContain('this-machine/host')
})
