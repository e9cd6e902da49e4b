import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { configured, start } from '../support/tidegauge.ts'

/** Says its process id on a port, and then keeps its process busy for good. */
const busy = `import { connect } from 'node:net'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ port: z.number() }),
  metrics: { Value: {} },
  history: true,
  collect: ({ options: { port } }) =>
    new Promise(() => {
      const socket = connect(port, '127.0.0.1', () => socket.write(String(process.pid), () => {
        for (;;);
      }))
    }),
})`

it('a process that a collector keeps busy ends when the command that started it is killed', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const yaml = `service: embedded
data: ../data
status: { listen: "127.0.0.1:0" }
protocols:
  - { id: p, name: P, collectors: [{ id: busy, use: ./busy.mjs, options: { port: ${port} } }] }
`
  const { config } = configured(yaml, { 'busy.mjs': busy })
  const command = start(['collect', '--dry-run', '--config', config], {})
  const [socket] = await once(server, 'connection')
  const [pid] = await once(socket, 'data')
  onTestFinished(() => endAtLast(Number(String(pid))))
  socket.on('error', () => {})
  // The system closes it when the process has ended, maybe before the end of the command is seen.
  const closed = once(socket, 'close')
  command.kill('SIGKILL')
  await Promise.all([once(command, 'exit'), closed])
  server.close()
  expect(socket.destroyed).toBe(true)
})

function endAtLast(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended, as it should.
  }
}
