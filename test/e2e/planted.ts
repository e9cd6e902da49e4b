/** Each is one that somebody could have; some hold what is written otherwise in JSON, a URL or a pattern. */
export const secrets = {
  oldKey: 'sk-OldKey7f3a9c/"Q+x=%2\\tail-OldKey55',
  newKey: 'sk-NewKey81bd02/"R+y=%3\\tail-NewKey66',
  deskKey: 'sk-DeskKey4e6f1a.plain',
  writtenPath: '/v3/WrittenPath0123456789abcdef',
  writtenQuery: 'WrittenQuery99887766',
  kept: '/rpc/KeptPathfedcba9876543210',
  user: 'UserOfTheNode42',
  password: 'PasswordOfTheNode77',
  credentials: 'UserOfTheNode42:PasswordOfTheNode77',
  feed: '/feed/FeedPath5566778899',
  apiKey: 'sk-ApiKey31c7d2e9+of/Graph',
  token: 'TokenOfTheSource44556677',
  source: '/source/SourcePath3344556677',
  database: 'PasswordOfTheDatabase88/#?',
  header: 'HeaderOfTheSource99001122',
  rpcToken: 'TokenOfTheNode33445566',
  priceHeader: 'HeaderOfThePrice22334455',
  mistaken: '/v3/MistakenPath1122334455',
  heartbeat: '/ping/HeartbeatPath6677889900',
  webhook: '/hook/WebhookPath5566778899',
  slack: '/services/SlackPath4455667788',
  bot: '123456:TokenOfTheBot99887766',
}

const steady = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Low: {}, High: {}, Mean: {} },
  history: true,
  async collect({ hour, log }) {
    log.info('environment', { values: Object.values(process.env).join(' ') })
    return { Low: 1, High: 3, Mean: hour / 1e12 }
  },
})
`

const fed = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ feed: z.string() }),
  metrics: { Fed: {} },
  history: true,
  collect: async ({ http, options }) => ({ Fed: await http.json(options.feed, z.number()) }),
})
`

const chained = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Balance: {} },
  history: true,
  async collect({ chain, log }) {
    const failed = error => {
      log.warn('seen by the collector: ' + error.stack, { error: String(error), facts: JSON.stringify(error) })
      throw error
    }
    return { Balance: Number(await chain('lagoon').balance('0x${'11'.repeat(20)}').catch(failed)) }
  },
})
`

const keyed = `import { defineCollector, secret, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ base: z.string(), apiKey: secret, token: secret }),
  metrics: { Keyed: {} },
  history: true,
  async collect({ options: { base, apiKey, token }, log }) {
    const url = base + '/api/' + encodeURIComponent(apiKey) + '/subgraphs/id/1'
    const answer = await fetch(url, { headers: { authorization: 'Bearer ' + token } })
    const said = url + ' with ' + apiKey + ' and ' + token + ' in ' + btoa(apiKey) + ' or ' + btoa('x:' + token)
    console.log('printed: ' + said)
    process.stdout.write('written: ' + said + '\\n')
    process.stderr.write('written: ' + said + '\\n')
    log.warn('logged: ' + said, { apiKey, [token]: JSON.stringify({ said }), list: [token, said] })
    log.info('x'.repeat(985) + apiKey + token)
    const failed = new Error(url + ' answers ' + answer.status + ': ' + (await answer.text()) + said)
    return { Keyed: Promise.reject(failed), [apiKey]: 1, ['L' + token]: 2 }
  },
})
`

const priced = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Priced: { unit: 'USD' } },
  history: true,
  async collect({ price, log }) {
    const failed = error => {
      log.warn('no price: ' + error.stack, { error: String(error), facts: JSON.stringify(error) })
      throw error
    }
    return { Priced: await price('ETH').catch(failed) }
  },
})
`

/** Collectors that do their best to let something out. */
export const collectors = {
  'steady.ts': steady,
  'chained.ts': chained,
  'fed.ts': fed,
  'keyed.ts': keyed,
  'priced.ts': priced,
}

/** A configuration with a secret in every place that may hold one; a key's file is `key` next to it. */
export function yaml(serviceUrl: string, node: string, statusPort: number, since: string, reports: string): string {
  return `service: { url: "${serviceUrl}", key: { file: ./key } }
status: { listen: "127.0.0.1:${statusPort}" }
log: { level: debug }
delivery: { pace: 1000 }
heartbeat: { url: { env: HEARTBEAT_URL } }
notify:
  - { webhook: { env: ALERT_URL } }
  - { slack: { env: SLACK_URL } }
  - { telegram: { token: { env: BOT_TOKEN }, chat: 1, url: "${reports}" } }
chains:
  lagoon:
    id: 1
    rpc:
      - "http://${node}${secrets.writtenPath}?apikey=${secrets.writtenQuery}"
      - { env: KEPT_RPC }
      - { url: "http://${node}/headers", headers: { authorization: { env: RPC_AUTHORIZATION } } }
prices:
  ETH: [{ url: "http://${node}/usd?at={hourSeconds}", headers: { x-api-key: { env: PRICE_KEY } }, pointer: /usd }]
protocols:
  - id: vault
    name: Vault
    collectors:
      - { use: ./steady.ts, since: "${since}" }
      - { use: ./chained.ts, id: chained }
      - { use: ./fed.ts, options: { feed: "http://${node}${secrets.feed}" } }
      - { use: ./keyed.ts, options: { base: "http://${node}", apiKey: { env: API_KEY }, token: { file: ./token } } }
      - { use: http-json, options: { url: { env: SOURCE_URL }, pointer: "" } }
      - use: http-json
        id: headed
        options: { url: "http://${node}/headed", headers: { x-api-key: { file: ./header } }, body: { query: "{ tvl }" }, pointer: "", label: Headed }
      - { use: ./priced.ts }
      - { use: sql, options: { postgres: { env: DATABASE_URL }, query: "SELECT 1 AS rows", values: { Rows: {} } } }
      - { use: sql, id: misread, options: { postgres: { env: MISREAD_URL }, query: "SELECT 1 AS read", values: { Read: {} } } }
  - id: desk
    name: Desk
    key: { env: DESK_KEY }
    collectors:
      - { use: ./steady.ts }
`
}
