import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { freePort } from '../support/free-port.ts'
import { receiver } from '../support/receiver.ts'
import { configured, startDaemon, tidegauge } from '../support/tidegauge.ts'
import { type NodeMode, type ServiceMode, startEchoingService, startElsewhere, startNode } from './echoing-servers.ts'
import { filesIn, leaksIn, type Output, pagesOf } from './leaks.ts'
import { collectors, secrets, yaml } from './planted.ts'

it('no secret is in any output, file or page, whatever a service or a node repeats of it', async () => {
  const elsewhere = await startElsewhere()
  const node = await startNode(elsewhere.url)
  const service = await startEchoingService(elsewhere.url)
  // It repeats what it was sent, and where to.
  const reports = await receiver(({ path, body }) => ({ status: 500, body: `report says ${path} ${body}` }))
  const port = await freePort()
  const since = hourText(hourAfter(hourAt(Date.now()), -3))
  const address = new URL(node.url).host
  const { folder, config } = configured(yaml(service.url, address, port, since, reports.url), {
    ...collectors,
    'mistaken.yaml': yaml(service.url, address, port, since, reports.url).replace(
      `"http://${address}/v3/Wr`,
      '"htps://node/v3/MistakenPath1122334455/Wr',
    ),
    key: secrets.oldKey,
    token: `${secrets.token}\n`,
    header: `${secrets.header}\n`,
  })
  const env = {
    DESK_KEY: secrets.deskKey,
    API_KEY: secrets.apiKey,
    SOURCE_URL: `http://${address}${secrets.source}`,
    DATABASE_URL: `postgres://owner:${encodeURIComponent(secrets.database)}@${address}/app?sslmode=require`,
    // Not percent-encoded: a part of the password is where a host and a port are looked for.
    MISREAD_URL: `postgres://owner:${secrets.database}@${address}/app`,
    PRICE_KEY: secrets.priceHeader,
    RPC_AUTHORIZATION: `Bearer ${secrets.rpcToken}`,
    HEARTBEAT_URL: `${reports.url}${secrets.heartbeat}`,
    ALERT_URL: `${reports.url}${secrets.webhook}`,
    SLACK_URL: `${reports.url}${secrets.slack}`,
    BOT_TOKEN: secrets.bot,
    KEPT_RPC: `http://${secrets.credentials}@${address}${secrets.kept}`,
  }
  const outputs: Output[] = []
  const run = async (...args: string[]) => {
    const { stdout, stderr, code } = await tidegauge([...args, '--config', config], env)
    outputs.push({ where: args.join(' '), text: `${stdout}\n${stderr}` })
    return { text: `${stdout}\n${stderr}`, code }
  }
  const look = (when: string) => outputs.push(...filesIn(join(folder, 'data'), when))

  expect((await run('check')).code).toBe(0)
  const mistaken = await tidegauge(['check', '--config', join(folder, 'config', 'mistaken.yaml')], env)
  expect(mistaken.code).toBe(78)
  outputs.push({ where: 'check of a mistaken configuration', text: mistaken.stderr })

  for (const [mode, words] of Object.entries(nodeWords)) {
    node.mode = mode as NodeMode
    expect((await run('collect', '--dry-run', '--only', 'chained')).text).toMatch(words)
  }
  node.mode = 'rpc error'
  await run('collect')
  for (const [mode, words] of Object.entries(serviceWords)) {
    service.mode = mode as ServiceMode
    expect((await run('flush')).text).toMatch(words)
    look(`after ${mode}`)
  }
  expect((await run('dead', 'ls')).text).toContain('error: service says')
  expect((await run('warnings')).text).toContain('warning: service says')
  for (const args of [
    ['status'],
    ['status', '--json'],
    ['dead', 'ls', '--json'],
    ['held', 'ls'],
    ['warnings', '--json'],
    ['show', 'vault'],
  ])
    await run(...args)
  for (const mode of ['400', '401', 'redirect'] as const) {
    service.mode = mode
    expect((await run('register')).text).toMatch(mode === 'redirect' ? /307/ : `${mode}: service says`)
  }

  service.mode = 'errors and warnings'
  service.refused.add(secrets.oldKey)
  const daemon = await startDaemon(config, env)
  await daemon.logged('delivery waits')
  for (const path of [`${secrets.heartbeat}/start`, secrets.webhook, secrets.slack, `/bot${secrets.bot}/sendMessage`]) {
    while (!reports.posts.some(post => post.path === path)) await reports.until(reports.posts.length + 1)
  }
  await run('healthcheck')
  outputs.push(...(await pagesOf(daemon.url, 'before the key is rotated')))
  look('before the key is rotated')
  writeFileSync(join(folder, 'config', 'key'), `${secrets.newKey}\n`)
  await daemon.status<StatusJson>(({ balance }) => balance.due === 0)
  await run('healthcheck')
  outputs.push(...(await pagesOf(daemon.url, 'after the key was rotated')))
  look('after the key was rotated')
  expect(await daemon.kill('SIGTERM')).toBe(0)
  outputs.push({ where: 'log of run', text: daemon.log.join('\n') })
  await run('status')
  look('at the end')
  for (const { path, body } of reports.posts) outputs.push({ where: `report to ${path.split('/')[1]}`, text: body })

  expect(leaksIn(outputs, secrets)).toEqual([])
  expect(elsewhere.requests).toEqual([])
  // The searched texts do hold what was said, and each secret was where it could be repeated.
  for (const [where, words] of said) {
    expect(
      outputs.some(output => where.test(output.where) && words.test(output.text)),
      `${where} ${words}`,
    ).toBe(true)
  }
  expect(service.keysSeen).toEqual(new Set([secrets.oldKey, secrets.newKey, secrets.deskKey]))
  for (const secret of [
    secrets.writtenPath,
    secrets.writtenQuery,
    secrets.kept,
    secrets.feed,
    secrets.source,
    secrets.header,
    secrets.rpcToken,
    secrets.priceHeader,
    encodeURIComponent(secrets.apiKey),
    secrets.token,
    basic,
  ]) {
    expect(
      [...node.asked].some(asked => asked.includes(secret)),
      secret,
    ).toBe(true)
  }
})

const basic = Buffer.from(secrets.credentials).toString('base64')

/** Where words of the service and of a node are repeated without the secrets. */
const said: readonly (readonly [where: RegExp, words: RegExp])[] = [
  [/^log of run$/, /"msg":"environment"/],
  ...[/^log of run$/, /^flush/, /^status$/, /^dead ls$/, /^warnings$/, /^page \/ /, /^page \/status/, /outbox\.db/].map(
    where => [where, /service says .*\[redacted\]/] as const,
  ),
  ...[/printed:/, /written:/, /logged:/].map(
    words => [/^log of run$/, new RegExp(`${words.source} .*\\[redacted\\]`)] as const,
  ),
  ...[/^log of run$/, /^collect$/, /^page \/status/, /^page \/ /, /outbox\.db/].map(
    where => [where, /\[redacted\]\/subgraphs\/id\/1 answers 403/] as const,
  ),
  ...[/^log of run$/, /^collect$/, /^page \/status/, /outbox\.db/].map(
    where => [where, /node says no to .*redacted/] as const,
  ),
]

/** Words for each failure of the node: the host, and that it failed. */
const nodeWords: Readonly<Record<NodeMode, RegExp>> = {
  'rpc error': /127\.0\.0\.1:\d+ answered an error: node says no to .*redacted/,
  '401': /127\.0\.0\.1:\d+ answered HTTP 401/,
  '429': /127\.0\.0\.1:\d+ answered HTTP 429/,
  html: /127\.0\.0\.1:\d+ answered with something that is not JSON/,
  redirect: /127\.0\.0\.1:\d+ answered HTTP 307/,
}

/** Words for each answer of the service; the last one settles what is due. */
const serviceWords: Readonly<Record<ServiceMode, RegExp>> = {
  '400': /400: service says/,
  '401': /401: service says .*redacted/,
  redirect: /307/,
  '500': /500: service says .*redacted/,
  'errors and warnings': /dead/,
}
