import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Devchain } from '../../src/devchain/devchain.ts'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { hourBack } from '../cli/stage.ts'
import { freePort } from '../support/free-port.ts'
import { allAccepted, answering } from '../support/listening.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import {
  allDelivered,
  configured,
  levelCollector,
  type RunningDaemon,
  startDaemon,
  tidegauge,
} from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'

const env = { METRICS_KEY: 'a-key' }

/** The words of the page, without its markup. */
async function pageOf(daemon: RunningDaemon): Promise<string> {
  const text = await (await fetch(`${daemon.url}/`)).text()
  return text
    .replace(/<(style|script)>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
}

interface Ready {
  readonly ready: boolean
  readonly reasons: readonly string[]
}

async function readyOf(daemon: RunningDaemon): Promise<Ready> {
  return (await (await fetch(`${daemon.url}/readyz`)).json()) as Ready
}

/** A service that takes pushes, and answers about widgets what a test wants. */
async function serviceWith(widget: () => { readonly status?: number; readonly body: unknown }): Promise<string> {
  return answering((request, body) => {
    if (request.method !== 'POST') return request.url?.startsWith('/metrics/') ? widget() : { body: [] }
    return allAccepted((JSON.parse(body) as { metrics?: unknown[] }).metrics ?? [])
  })
}

const unknown = { status: 404, body: { error: 'not found' } }

async function levelDaemon(widget: () => { readonly status?: number; readonly body: unknown }, data = '') {
  const port = await freePort()
  const url = await serviceWith(widget)
  const stage = configured(
    `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:${port}" }
${data}protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./own.ts
`,
    { 'own.ts': levelCollector },
  )
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await tidegauge([...args, '--config', stage.config], env)
    return { code, text: stdout + stderr }
  }
  return { ...stage, run, daemon: await startDaemon(stage.config, env) }
}

describe('what is said of a daemon is true when it is read', () => {
  it('its last block is known over a reload', async () => {
    const chain = await Devchain.build({ nowMs: Date.now(), hours: 3 })
    onTestFinished(() => chain.stop())
    const { config } = configured(`service: embedded
status: { listen: "127.0.0.1:${await freePort()}" }
chains: { local: { id: 31337, rpc: ["${chain.url}"] } }
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: balances, options: { label: Coins, unit: ETH, of: { local: { owners: ["0x70997970c51812dc3a010c7d01b50e0d17dc79c8"], assets: [{ native: true }] } } } }
`)
    const daemon = await startDaemon(config)
    const first = await daemon.status<StatusJson>(({ endpoints }) => endpoints[0]?.head !== undefined)
    const head = first.endpoints[0]?.head?.number ?? 0
    appendFileSync(config, '  - { id: machine, name: Machine, collectors: [{ use: host }] }\n')
    await daemon.logged('the new configuration is in force')
    const { endpoints } = await daemon.status<StatusJson>(allDelivered)
    expect(endpoints[0]?.head?.number).toBeGreaterThanOrEqual(head)
    expect(await pageOf(daemon)).not.toContain('last block not known')
    expect(await (await fetch(`${daemon.url}/metrics`)).text()).toContain('tidegauge_endpoint_head_timestamp_seconds{')
  })

  it('the service knows no such protocol, refuses the key, or does not answer: each as it is', async () => {
    let answer: { readonly status?: number; readonly body: unknown } = unknown
    const { daemon, run } = await levelDaemon(() => answer)
    await daemon.status<StatusJson>(allDelivered)
    const words = 'values of this outbox; 127.0.0.1:'
    await expect
      .poll(() => pageOf(daemon))
      .toMatch(/values of this outbox; [^;]* knows no protocol "pool": tidegauge register .*pool/)
    expect((await run('show', 'pool')).text).toMatch(/→ tidegauge register .*pool/)
    answer = { status: 401, body: {} }
    await expect.poll(() => pageOf(daemon)).toMatch(/[^;]* refused the key: check the key/)
    answer = { body: [] }
    await expect.poll(() => pageOf(daemon)).toContain('read from the service')
    expect(await pageOf(daemon)).not.toContain(words)
    expect((await readyOf(daemon)).ready).toBe(true)
  })

  it('a configuration that is saved and not taken, by a daemon that gets no processor', async () => {
    const { daemon, config, run } = await levelDaemon(() => ({ body: [] }))
    await daemon.status<StatusJson>(allDelivered)
    process.kill(daemon.pid, 'SIGSTOP')
    const since = hourText(hourAfter(parseHour(hourBack(0)), -9))
    writeFileSync(
      join(dirname(config), 'new.ts'),
      levelCollector.replaceAll('Level', 'Other').replace('history: false', 'history: true'),
    )
    appendFileSync(config, `      - { use: ./new.ts, since: "${since}" }\n`)
    const status = await run('status')
    expect(status.code).toBe(1)
    expect(status.text).toMatch(/The daemon \(pid \d+.*\) takes connections, and has not answered within 5 s/)
    expect(status.text).not.toMatch(/planned\. |disk|log of/)
    expect((await run('doctor')).text).toMatch(/! daemon: runs \(pid.*takes connections, and has not answered/)
    process.kill(daemon.pid, 'SIGCONT')
    await daemon.logged('the new configuration is in force')
    await daemon.status<StatusJson>(allDelivered)
    await expect.poll(async () => (await run('status')).code).toBe(0)
  })

  it('a refused file is one finding among all else', async () => {
    const { daemon, config, run } = await levelDaemon(() => ({ body: [] }))
    await daemon.status<StatusJson>(allDelivered)
    appendFileSync(config, '      - { use: host, optoins: { disk: "/" } }\n')
    await daemon.logged('the new configuration is refused, the old one stays in force')
    const [reason = ''] = (await readyOf(daemon)).reasons
    expect(reason).toContain('was changed and has been refused since')
    expect(await pageOf(daemon)).toContain('has been refused since')
    for (const command of ['status', 'gaps', 'show'] as const) {
      const { text } = await run(command, ...(command === 'show' ? ['pool'] : []))
      expect(text, command).toMatch(/optoins/)
    }
    const { code, text } = await run('doctor')
    expect(code).toBe(1)
    const failed = text.split('\n').filter(line => line.startsWith('✖'))
    expect(failed).toHaveLength(1)
    expect(failed[0]).toMatch(/✖ configuration: .*:\d+:\d+: unknown key "optoins"/)
    for (const subject of ['✔ key', '✔ disk', '✔ outbox', '✔ daemon: runs', '! in force: the daemon refused'])
      expect(text).toContain(subject)
  })

  it('a daemon that is starting', async () => {
    const { daemon, config, run } = await levelDaemon(() => unknown)
    await daemon.kill('SIGTERM')
    const slow = `await new Promise(() => process.on('message', () => {}))\n${levelCollector}`
    writeFileSync(join(dirname(config), 'own.ts'), slow)
    writeFileSync(config, readFileSync(config, 'utf8').replace('name: Pool', 'name: Pool\n    register: true'))
    const again = startDaemon(config, env)
    again.catch(() => {})
    await untilTrue(async () => (await fetch(`${daemon.url}/readyz`).catch(() => undefined))?.status === 503)
    expect((await run('status')).text).toMatch(
      /NOT READY\n {2}The daemon is starting, since .*: ask again in a moment\./,
    )
    expect((await run('show', 'pool')).text).toMatch(/knows no protocol "pool"[^→]*→ The daemon is starting, since/)
  })

  it.skipIf(!mayMount)('a full disk (needs the right to mount one)', async () => {
    const disk = smallDisk(64)
    // It needs room to start, and none for its reserve.
    writeFileSync(join(disk.folder, 'filler'), Buffer.alloc(40 * 1_048_576, 0x66))
    const { daemon, run } = await levelDaemon(() => unknown, `data: ${disk.folder}/data\n`)
    await daemon.logged('the disk is full: collecting waits')
    const page = await pageOf(daemon)
    expect(page).toMatch(/no value yet The disk is full: nothing new is collected until/)
    expect(page).not.toContain('being collected')
    expect((await readyOf(daemon)).reasons[0]).toMatch(/^The disk is full/)
    expect((await run('doctor')).text).toMatch(/✖ disk: /)
    disk.empty()
    await daemon.status<StatusJson>(allDelivered)
    expect(await pageOf(daemon)).not.toContain('The disk is full')
  })
})
