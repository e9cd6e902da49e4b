import { expect, it } from 'vitest'
import { receiver } from '../support/receiver.ts'
import { configured, hostYaml, startDaemon } from '../support/tidegauge.ts'

it('a daemon reports an hour that it has collected and delivered', async () => {
  const { url, posts, until } = await receiver()
  const { config } = configured(`heartbeat: { url: { env: HEARTBEAT_URL } }\n${hostYaml}`)
  const daemon = await startDaemon(config, { HEARTBEAT_URL: `${url}/ping/secret-check` })
  await until(2)
  expect(posts.map(({ path }) => path)).toEqual(['/ping/secret-check/start', '/ping/secret-check'])
  expect(posts.map(({ body }) => body)).toEqual(Array(2).fill(expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/)))
  expect(await daemon.kill('SIGTERM')).toBe(0)
  expect(daemon.log.join('\n')).not.toContain('secret-check')
})

it('a daemon reports at once an hour that fails until something is changed', async () => {
  const { url, posts, until } = await receiver()
  const broken = '      - { use: ./broken.js }\n'
  const { config } = configured(`heartbeat: { url: { env: HEARTBEAT_URL } }\n${hostYaml}${broken}`, {
    'broken.js': `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}), metrics: { Level: {} }, history: true, collect: () => ({ Other: 1 }),
})
`,
  })
  const daemon = await startDaemon(config, { HEARTBEAT_URL: `${url}/check` })
  await until(2)
  expect(posts[1]).toMatchObject({
    path: '/check/fail',
    body: expect.stringMatching(/\nthis-machine\/broken has not collected/),
  })
  expect(await daemon.kill('SIGTERM')).toBe(0)
})
