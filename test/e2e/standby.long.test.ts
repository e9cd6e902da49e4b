import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { daemonHolder } from '../../src/outbox/roles.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { openEarly, StartProgress } from '../../src/status/server/starting.ts'
import { freePort } from '../support/free-port.ts'
import { allDelivered, configured, hostYaml, says, start, startDaemon } from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'

const yamlAt = (port: number) => hostYaml.replace('127.0.0.1:0', `127.0.0.1:${port}`)

it('a standby takes over from a daemon that is killed, and only one of two does', async () => {
  const { config } = configured(yamlAt(await freePort()))
  const first = await startDaemon(config)
  await first.status<StatusJson>(allDelivered)
  const standbys = [1, 2].map(() => start(['run', '--standby', '--config', config], {}))
  const standing = standbys.map(child => says(child, /standing by: another daemon is at work/))
  await Promise.all(standing)
  const running = standbys.map(child => says(child, /"msg":"running"/).then(() => child))
  await first.kill('SIGKILL')
  const next = await Promise.race(running)
  const [other] = standbys.filter(child => child !== next)
  // It is at work on the same outbox, at the same address.
  await first.status<StatusJson>(allDelivered)
  for (const each of running) each.catch(() => {})
  next.kill('SIGTERM')
  expect(await once(next, 'close')).toEqual([0, null])
  await (next === standbys[0] ? running[1] : running[0])
  other?.kill('SIGTERM')
  expect(other && (await once(other, 'close'))).toEqual([0, null])
})

it('a standby ends when it is stopped, and begins at once where no daemon is at work', async () => {
  const { config } = configured(yamlAt(await freePort()))
  const alone = start(['run', '--standby', '--config', config], {})
  await says(alone, /"msg":"running"/)
  const waiting = start(['run', '--standby', '--config', config], {})
  await says(waiting, /standing by/)
  waiting.kill('SIGTERM')
  expect(await once(waiting, 'close')).toEqual([0, null])
  alone.kill('SIGTERM')
  expect(await once(alone, 'close')).toEqual([0, null])
})

it('a daemon that has the role waits for its port while another one that starts has it', async () => {
  const port = await freePort()
  const { config, folder } = configured(yamlAt(port))
  const rival = await openEarly({ host: '127.0.0.1', port }, new StartProgress())
  onTestFinished(() => rival?.stop())
  let looks = 0
  rival?.server.on('request', () => {
    looks += 1
  })
  const child = start(['run', '--config', config], {})
  const running = says(child, /"msg":"running"/)
  running.catch(() => {})
  await untilTrue(() => looks > 1)
  expect(daemonHolder(join(folder, 'data', 'embedded'))).toMatchObject({ pid: child.pid })
  await rival?.stop()
  await running
})
