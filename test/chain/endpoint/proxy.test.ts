import { afterEach, expect, it } from 'vitest'
import { setEgress } from '../../../src/edge/egress.ts'
import { startProxy } from '../../support/proxy.ts'
import { echo, failureOf, never, open } from '../support/endpoints.ts'

afterEach(() => setEgress())

it.each(['http', 'https', 'ws', 'wss'])(
  'a node at %s:// that the proxy does not reach is named with the proxy',
  async scheme => {
    const proxy = await startProxy({})
    setEgress(() => ({ proxy: proxy.url, except: [] }))
    const port = /[ps]s$/.test(scheme) ? 443 : 80
    const failure = await failureOf(open(`${scheme}://node.example.test/v1/a-key-of-the-node`).call([echo(1)], never))
    expect(failure).toMatchObject({
      message: `node.example.test does not answer: the proxy 127.0.0.1:${proxy.port} does not reach node.example.test:${port} (502)`,
      fix: 'check that this host runs; a host that needs no proxy belongs under proxy.except',
    })
  },
)
