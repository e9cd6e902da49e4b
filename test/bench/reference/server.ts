/**
 * A process with the reference service, for the benchmark: `node server.ts FILE stored|not-stored PROTOCOL…`. Prints
 * one line of JSON, `{ url, key }`, and ends when its input does. `not-stored` is the same server, with the same HTTP,
 * keys, access checks and validation, whose values go nowhere.
 */
import { once } from 'node:events'
import { systemTime } from '../../../src/edge/time.ts'
import { listen } from '../../../src/edge/web-server.ts'
import { referenceServer } from '../../../src/reference/server.ts'
import { openStore, type Store } from '../../../src/reference/store.ts'

const [file = ':memory:', storing, ...protocolIds] = process.argv.slice(2)

const store = openStore(file, systemTime)
const key = store.keys.create('bench')
const owner = store.keys.find(key)
for (const id of protocolIds) if (owner) store.protocols.register({ id, name: id, visibility: 'private' }, owner)

const nowhere: Store = { ...store, values: { ...store.values, put: async () => [] } }
const server = await referenceServer(storing === 'stored' ? store : nowhere, systemTime, error => {
  process.stderr.write(`${error.message}\n`)
})
const { url, stop } = await listen(server, '127.0.0.1', 0)
process.stdout.write(`${JSON.stringify({ url, key })}\n`)

process.stdin.resume()
await once(process.stdin, 'end')
await stop()
store.close()
