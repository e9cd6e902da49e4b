import { describe, expect, it } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { type ReceiverAnswer, receiver } from '../../support/receiver.ts'
import { catchUpStage } from './stage.ts'

const heartbeat = 'heartbeat: { url: { env: HEARTBEAT_URL } }'

async function beating(answer?: ReceiverAnswer, options = '') {
  const check = await receiver(() => answer)
  const stage = await catchUpStage({ rest: heartbeat, options })
  const env = { HEARTBEAT_URL: `${check.url}/secret-check` }
  Object.assign(stage.env, env)
  const seen = () => check.posts.map(({ path, body }) => [path, ...body.split('\n')])
  return { ...stage, seen }
}

describe('the heartbeat of collect --catch-up', () => {
  it('is sent when collecting begins, and when all is delivered', async () => {
    const { at, start, seen } = await beating()
    expect((await at(0.2)).code).toBe(0)
    expect(seen()).toEqual([
      ['/secret-check/start', hourText(start)],
      ['/secret-check', hourText(start)],
    ])
  })

  it('says what was not collected', async () => {
    const fails = hourText(hourAfter(hourAt(Date.now()), 1))
    const { at, seen } = await beating(undefined, `fails: "${fails}"`)
    expect((await at(0.2)).code).toBe(1)
    expect(seen().at(-1)).toEqual([
      '/secret-check/fail',
      fails,
      expect.stringMatching(`^pool/past has not collected ${fails}: the well is dry`),
    ])
  })

  it('that does not answer well changes nothing, and is not named', async () => {
    const { at } = await beating({ status: 404 })
    const { code, stdout, stderr } = await at(0.2)
    expect([code, stdout]).toEqual([0, expect.stringContaining('3 metrics delivered')])
    expect(stderr).toContain('a report is not accepted')
    expect(stderr).not.toContain('secret-check')
  })
})
