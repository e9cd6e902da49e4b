import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const collector = fileURLToPath(new URL('../../chain/support/synthetic-collector.ts', import.meta.url))

/** Collectors of the configuration: each has five metrics. */
export const collectors = 10

/** Writes a configuration with collectors of one chain, which keeps its data next to it. */
export function writeConfig(
  file: string,
  urls: { readonly rpc: string; readonly service: string },
  count = collectors,
): void {
  const used = Array.from({ length: count }, (_, index) => ({
    use: collector,
    id: `five-${index}`,
    options: { chain: 'ethereum', contract: `0x${String(index + 1).padStart(40, '0')}`, first: index * 5 + 1 },
  }))
  const config = {
    service: { url: urls.service, key: { env: 'BENCH_KEY' } },
    data: './kept',
    delivery: { pace: 1_000, inFlight: 4 },
    status: { listen: '127.0.0.1:0' },
    log: { level: 'warn' },
    chains: { ethereum: { id: 1, rpc: [urls.rpc] } },
    protocols: used.map((collector, index) => ({ id: `bench-${index}`, name: 'bench', collectors: [collector] })),
  }
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config, undefined, 2))
}
