/** Stores metrics in an outbox and delivers them: `node ours.ts URL METRICS at-once|by-the-hour FILE [MARK]`. Prints `Sent`. */
import { clientOf, deliverAll, deliveryOf } from '../deliver.ts'
import { metricsAnHour } from '../metrics.ts'
import { openOutbox, storeHour } from '../store.ts'
import { type Pace, send } from './send.ts'

const [url = '', metrics = '0', pace, file = ':memory:', mark] = process.argv.slice(2)

const outbox = openOutbox(file, Number(metrics) / metricsAnHour)
const client = clientOf(url)
const delivery = deliveryOf(outbox, client, 'bench-key')
const sender = { take: (hour: number) => storeHour(outbox, hour), flush: () => deliverAll(outbox, delivery) }
await send(sender, Number(metrics), pace as Pace, mark)
await client.close()
outbox.close()
