import { expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { freePort } from '../../support/free-port.ts'
import { receiver } from '../../support/receiver.ts'
import { configured, hostYaml } from '../../support/tidegauge.ts'

it('notify test sends each receiver one message that is over, and says what each answers', async () => {
  const { url, posts } = await receiver(({ path }) =>
    path.startsWith('/bad') ? { status: 410, body: 'gone' } : undefined,
  )
  const { config } = configured(`${hostYaml}notify: [{ webhook: { env: GOOD } }, { slack: { env: BAD } }]\n`)
  const env = { GOOD: `${url}/good/secret-path`, BAD: `${url}/bad/secret-path` }
  const { code, stdout, stderr } = await command(['notify', 'test', '--config', config], env)
  expect(stdout).toBe(
    '✔ webhook GOOD: accepted\n✖ slack BAD: it answered 410: gone → check its address under notify:\n',
  )
  expect([code, stderr]).toEqual([1, ''])
  expect(posts.map(({ path }) => path).sort()).toEqual(['/bad/secret-path', '/good/secret-path'])
  const sent = posts.find(({ path }) => path.startsWith('/good'))
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({ trouble: 'test', state: 'over', items: [{ do: 'nothing' }] })
  const json = await command(['notify', 'test', '--json', '--config', config], { ...env, BAD: env.GOOD })
  expect([json.code, JSON.parse(json.stdout).receivers.map(({ ok }: { ok: boolean }) => ok)]).toEqual([0, [true, true]])
})

it('notify test says what to do about a receiver that cannot be reached or asked', async () => {
  const { config } = configured(`${hostYaml}notify: [{ webhook: { env: GONE } }, { slack: { env: UNSET } }]\n`)
  const { code, stdout } = await command(['notify', 'test', '--config', config], {
    GONE: `http://127.0.0.1:${await freePort()}/secret-path`,
  })
  expect(stdout).toMatch(/^✖ webhook GONE: nothing listens there, ECONNREFUSED.* → check the address and its port, /m)
  expect(stdout).toMatch(/^✖ slack UNSET: .*UNSET.*$/m)
  expect([code, stdout]).toEqual([1, expect.not.stringContaining('secret-path')])
})

it('notify test without a receiver says what to add', async () => {
  const { config } = configured(hostYaml)
  const { code, stderr } = await command(['notify', 'test', '--config', config])
  expect([code, stderr]).toEqual([2, expect.stringContaining('no receiver is configured')])
})
