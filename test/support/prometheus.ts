import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram } from './program.ts'

export const prometheusPlace = findProgram('prometheus', 'prometheus')

export interface PrometheusServer {
  /** `http://127.0.0.1:port` */
  readonly url: string
  stop(): Promise<void>
}

/**
 * A real Prometheus server on a port the system picks, that scrapes nothing and holds the given samples.
 *
 * @param samples in the OpenMetrics format, without its last line; their instants may be any
 */
export async function startPrometheus(path: string, samples: readonly string[]): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const data = join(folder, 'data')
  const written = file('samples', `${[...samples, '# EOF'].join('\n')}\n`)
  execFileSync(join(dirname(path), 'promtool'), ['tsdb', 'create-blocks-from', 'openmetrics', written, data])
  const config = file('prometheus.yml', 'global: { scrape_interval: 1h }\n')
  const flags = ['--web.listen-address=127.0.0.1:0', '--storage.tsdb.retention.time=100y']
  const child = spawn(path, [`--config.file=${config}`, `--storage.tsdb.path=${data}`, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    // Two of its threads write these lines, in either order.
    let address: string | undefined
    let ready = false
    child.once('error', reject)
    closed.then(code => reject(new Error(`prometheus ended with ${code} before it listened`)))
    createInterface({ input: child.stderr }).on('line', line => {
      address = /"Listening on".* address=(\S+)/.exec(line)?.[1] ?? address
      ready ||= line.includes('Server is ready')
      if (ready && address !== undefined) resolve(`http://${address}`)
    })
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
