import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Recording, record, replay } from 'tidegauge/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Ways to read an address past the daemon; each gives 1 when it cannot, so that only a guard fails the run. */
const ways = {
  fetch: 'await fetch(url).then(response => response.text())',
  http: "await new Promise((resolve, reject) => nodeHttp.get(url, resolve).on('error', reject))",
  tls: "await new Promise((resolve, reject) => tls.connect(443, '127.0.0.1', resolve).on('error', reject))",
  WebSocket:
    "await new Promise((resolve, reject) => { const s = new WebSocket(url.replace('http', 'ws')); s.onopen = resolve; s.onerror = reject })",
  dgram: "await new Promise(resolve => dgram.createSocket('udp4').send('x', 9, '127.0.0.1', resolve))",
}

const collector = (way: string) => `import nodeHttp from 'node:http'
import tls from 'node:tls'
import dgram from 'node:dgram'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: { A: {} },
  history: true,
  async collect({ options: { url }, http }) {
    const recorded = await http.text(url)
    try { ${way} } catch {}
    return { A: recorded.length }
  },
})
`

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
const configFile = join(folder, 'tidegauge.yaml')
const hour = '2026-11-20T13:00:00Z'
let server: Server
let requests = 0
let url: string
let recording: Recording
const runOf = (name: string) => ({ use: `./${name}.ts`, configFile, options: { url } })

beforeAll(async () => {
  server = createServer((_request, response) => {
    requests += 1
    response.end('five!')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(configFile, 'service: embedded\nprotocols: [{ id: p, name: P, collectors: [{ use: host }] }]\n')
  for (const [name, way] of Object.entries({ ...ways, none: '' })) {
    writeFileSync(join(folder, `${name}.ts`), collector(way))
  }
  recording = await record({ ...runOf('none'), hour })
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

describe('what a collector reads past the daemon', () => {
  it.each(Object.keys(ways))('by %s fails a recording and a replay, also when it is caught', async name => {
    requests = 0
    await expect(record({ ...runOf(name), hour })).rejects.toThrow('reads the network past the daemon')
    expect(requests).toBe(1)
    await expect(replay({ ...runOf(name), recording })).rejects.toThrow('read it with http.json or http.text')
    expect(requests).toBe(1)
  })

  it('is nothing for one that reads by http alone', async () => {
    expect(await replay({ ...runOf('none'), recording })).toEqual({ A: 5 })
  })
})
