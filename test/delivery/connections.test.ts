import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connect } from '../../src/app/connection.ts'
import { parseConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { HttpService, taken } from './support/http-service.ts'

it('keys on which the service hangs take no connection from another, however many pushes are under way', async () => {
  const service = await HttpService.start()
  const folder = temporaryFolder()
  const keys = ['hangs', 'hangs-too', 'well']
  for (const key of keys) writeFileSync(join(folder, key), key, { mode: 0o600 })
  const inFlight = 3
  const text = `
data: ./data
service: { url: '${service.url}' }
delivery: { inFlight: ${inFlight} }
protocols:
${keys.map((key, index) => `  - { id: p${index}, name: ${key}, key: { file: ./${key} }, collectors: [{ use: ./c.ts }] }`).join('\n')}
`
  const config = parseConfig(join(folder, 'tidegauge.yaml'), text)
  await using stack = new AsyncDisposableStack()
  const { client } = await connect({ config, time: systemTime, log: silentLog, redactor: new Redactor() }, stack)
  const hanging = Promise.withResolvers<void>()
  service.rule = ({ key, metrics }) => {
    if (key === 'well') return taken(metrics.length)
    if (service.pushes.length === 2 * inFlight) hanging.resolve()
    return () => {}
  }
  const stopping = new AbortController()
  const push = (key: string) => client.push('{"metrics":[]}', key, stopping.signal)
  const hung = ['hangs', 'hangs-too'].flatMap(key => Array.from({ length: inFlight }, () => push(key)))
  await hanging.promise
  expect(await push('well')).toMatchObject({ kind: 'answered', status: 200 })
  stopping.abort(new Error('seen'))
  await Promise.allSettled(hung)
})
