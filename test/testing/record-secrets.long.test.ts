import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { record, replay } from 'tidegauge/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Sends secrets that no option declares, in every place, to a source that repeats all that it is sent. */
const sender = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: { Json: {}, Text: {}, Form: {}, Numbers: {}, Later: {}, Token: {} },
  history: true,
  async collect({ options: { url }, http }) {
    const any = z.looseObject({ count: z.number() })
    const headers = { authorization: 'Bearer hdr-S1-token', 'x-anything': 'hdr-S2-value', cookie: 'sid=hdr-S3-cookie; b=1' }
    const json = (path, request) => http.json(url + path, any, request).then(({ count }) => count)
    const signedIn = url.replace('//', '//user-S4-name:pass-S5-word@')
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'client_secret=form+S6+value', isRead: true }
    return {
      Json: json('/a?api_key=qry-S7-value&jwt=qry-S8-value&session=qry-S9-value&client_id=qry-S10-value&access=qry-S12-value&k=qry-S13-value&x-auth=qry-S14-value', { headers }),
      Text: http.text(signedIn + '/text', { body: { password: 'bod-S11-value' }, isRead: true }).then(text => text.length > 0 ? 1 : 0),
      Form: json('/form', form),
      Numbers: http.text(url + '/number', { headers: { 'x-pin': '8237461950' } }).then(text => JSON.parse(text).fine),
      Later: json('/later/hdr-S2-value'),
      Token: http.json(url + '/prices?token=bitcoin', z.object({ bitcoin: z.number() })).then(({ bitcoin }) => bitcoin),
    }
  },
})
`

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
const configFile = join(folder, 'tidegauge.yaml')
let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', piece => {
      body += piece
    })
    request.on('end', () => {
      const { url: address, headers } = request
      if (address === '/number') return void response.end(`{"fine":7, "num":${headers['x-pin']}, "list":[-8237461950]}`)
      if (address?.startsWith('/prices')) return void response.end('{"bitcoin":5}')
      const basic = Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString()
      const known = 'hdr-S1-token hdr-S2-value hdr-S3-cookie pass-S5-word form S6 value qry-S7-value'
      response.end(JSON.stringify({ count: 3, address, headers, body, basic, known }))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(join(folder, 'sender.ts'), sender)
  writeFileSync(configFile, 'service: embedded\nprotocols: [{ id: p, name: P, collectors: [{ use: host }] }]\n')
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

describe('a recording of a run whose source repeats what it is sent', () => {
  it('holds no credential, is valid JSON where a text was, and is replayed with the same values', async () => {
    const run = { use: './sender.ts', configFile, options: { url } }
    const recording = await record({ ...run, hour: '2026-11-20T13:00:00Z' })
    const text = JSON.stringify(recording, null, 2)
    expect(text.match(/S\d+[- +]\w+/g)).toBeNull()
    expect(text).not.toContain('8237461950')
    expect(text).not.toContain(Buffer.from('user-S4-name:pass-S5-word').toString('base64').slice(0, 20))
    expect(text).toContain('application/json')
    const values = { Json: 3, Text: 1, Form: 3, Numbers: 7, Later: 3, Token: 5 }
    expect(await replay({ ...run, recording: JSON.parse(text) })).toEqual(values)
  })
})
