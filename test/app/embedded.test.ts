import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startEmbedded } from '../../src/app/embedded.ts'
import { systemTime } from '../../src/edge/time.ts'
import { temporaryFolder } from '../support/folder.ts'

it('the embedded service whose key cannot be kept is stopped, so that the command can end', async () => {
  const folder = temporaryFolder()
  const inTheWay = join(folder, `service.key.${process.pid}`)
  mkdirSync(inTheWay)
  const servers = () => process.getActiveResourcesInfo().filter(kind => kind === 'TCPServerWrap').length
  const before = servers()
  await expect(startEmbedded(folder, systemTime)).rejects.toThrow('EISDIR')
  await expect.poll(servers).toBe(before)
})
