import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatEther } from 'viem'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Hex } from '../../src/model/block.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { compileProbe, storeInput } from '../chain/support/probe.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { findProgram } from '../support/program.ts'
import { hasNodes, RealNode } from '../support/real-node.ts'
import { tidegauge } from '../support/tidegauge.ts'

/**
 * Nodes of other projects, read by the command line: every delivered value is the chain's own of that hour, which the
 * test knows from what it wrote and from the node's own answers when it had just done so.
 */

const genesisSeconds = Date.UTC(2026, 10, 20, 9, 55) / 1000
const first = hourAt(Date.UTC(2026, 10, 20, 11))
/** Past hours of the chain; a last block lies past the newest. */
const hours = Array.from({ length: 6 }, (_, index) => hourAfter(first, index))

interface Expected {
  readonly stored: bigint
  readonly volume: bigint
  readonly coins: bigint
}

interface Written {
  readonly node: RealNode
  readonly contract: Hex
  readonly expected: ReadonlyMap<Hour, Expected>
}

let probe: Hex
beforeAll(async () => {
  probe = await compileProbe()
})

/** Deploys the contract, and Multicall3 unless there is to be none; then writes hours. */
async function write(node: RealNode, withMulticall: boolean, written = hours): Promise<Written> {
  await node.mine(genesisSeconds + 60, { data: probe })
  if (withMulticall) await node.placeMulticall3()
  const block = await node.rpc<{ transactions: Hex[] }>('eth_getBlockByNumber', 'latest', false)
  const receipt = await node.rpc<{ contractAddress: Hex }>('eth_getTransactionReceipt', await deployment(node, block))
  return writeHours(node, receipt.contractAddress, written)
}

/**
 * Writes hours: their first and their last second change every value, so that a block too many or too few shows. After
 * the newest of all hours blocks follow that no hour may see.
 */
async function writeHours(
  node: RealNode,
  contract: Hex,
  written: readonly Hour[],
  stored = 1_000_003n,
): Promise<Written> {
  const sender = await node.sender()
  const expected = new Map<Hour, Expected>()
  let amount = stored
  for (const hour of written) {
    let volume = 0n
    const end = hour / 1000
    const seconds = [end - 3_599, end - 1_800, end - 12, ...(hour === hours[2] ? [] : [end])]
    for (const at of hour === hours[4] ? [] : seconds) {
      amount += 7_919n
      volume += amount
      await node.mine(at, { to: contract, data: storeInput(amount) })
    }
    const coins = BigInt(await node.rpc<Hex>('eth_getBalance', sender, 'latest'))
    expected.set(hour, { stored: amount, volume, coins })
  }
  const last = hours.at(-1) ?? first
  if (!written.includes(last)) return { node, contract, expected }
  await node.mine(last / 1000 + 1, { to: contract, data: storeInput(5n) })
  await node.mine(last / 1000 + 90)
  return { node, contract, expected }
}

/** The transaction of the last block that has one: some nodes mine an empty block for a change of code. */
async function deployment(node: RealNode, { transactions: [own] }: { transactions: Hex[] }): Promise<Hex> {
  if (own) return own
  const block = await node.rpc<{ transactions: Hex[] }>('eth_getBlockByNumber', '0x1', false)
  if (!block.transactions[0]) throw new Error('the contract was not deployed')
  return block.transactions[0]
}

interface Read {
  /** Delivered values by label and hour. */
  readonly values: ReadonlyMap<string, string>
  readonly code: number | null
  readonly text: string
}

/** A backfill of all hours, and what stands in the outbox after it. */
async function read({ node, contract }: Written, url: string): Promise<Read> {
  const folder = temporaryFolder()
  const config = join(folder, 'tidegauge.yaml')
  const owner = await node.sender()
  writeFileSync(
    config,
    `service: embedded
data: ./data
chains: { c: { id: 31337, rpc: ["${url}"], settle: 0s } }
protocols:
  - id: p
    name: P
    collectors:
      - use: contract-read
        options: { chain: c, address: "${contract}", values: { Stored: { call: "stored() view returns (uint256)" } } }
      - use: event-sum
        options: { chain: c, address: "${contract}", event: "Stored(address indexed by, uint256 amount)", sum: amount, label: Volume }
      - use: balances
        options: { label: Coins, unit: WEI, of: { c: { owners: ["${owner}"], assets: [{ native: true }] } } }
`,
  )
  const range = ['--from', hourText(first), '--to', hourText(hours.at(-1) ?? first)]
  const { code, stdout, stderr } = await tidegauge(['backfill', ...range, '--config', config])
  const values = new Map<string, string>()
  for (const label of ['Stored', 'Volume', 'Coins']) {
    const { stdout: csv } = await tidegauge(['history', `p___${label}`, ...range, '--csv', '--config', config])
    for (const line of csv.trim().split('\n').slice(1)) {
      const [hour, value = '', , state] = line.split(',')
      if (state === 'delivered') values.set(`${label} ${hour}`, value)
    }
  }
  return { values, code, text: stdout + stderr }
}

/** Values that the outbox must hold: numbers as JavaScript prints the nearest double. */
function linesOf(expected: ReadonlyMap<Hour, Expected>): Map<string, string> {
  return new Map(
    [...expected].flatMap(([hour, { stored, volume, coins }]) => [
      [`Stored ${hourText(hour)}`, String(Number(stored))] as const,
      [`Volume ${hourText(hour)}`, String(Number(volume))] as const,
      [`Coins ${hourText(hour)}`, String(Number(formatEther(coins)))] as const,
    ]),
  )
}

/** Hours whose state a node no longer has, and those that it has. */
const [pastHours, newHours] = [hours.slice(0, 4), hours.slice(4)]

/**
 * Mines so many blocks, so long before the end of the first new hour, that a full node would have dropped the state of
 * the past ones. One by one: Hardhat's blocks of one command have no parent.
 */
async function mineEmpty(node: RealNode, secondsBefore: number): Promise<void> {
  const start = (newHours[0] ?? first) / 1000 - secondsBefore
  for (let index = 0; index < 150; index += 1) await node.mine(start + index)
}

/** The amount that the contract stores after the past hours. */
function lastOf({ expected }: Written): bigint | undefined {
  return [...expected.values()].at(-1)?.stored
}

/** Reads the hours of a node: the new ones are all there, past ones are right or absent, and what to do is said. */
async function expectPart(own: Written, past: ReadonlyMap<string, string>): Promise<void> {
  const { values, code, text } = await read(own, own.node.url)
  const all = new Map([...past, ...linesOf(own.expected)])
  for (const [place, value] of values) expect(value, `${place}: ${text}`).toBe(all.get(place))
  for (const place of linesOf(own.expected).keys()) expect([...values.keys()], text).toContain(place)
  expect(values.size, text).toBeLessThan(all.size)
  expect([code, text]).toEqual([1, expect.stringMatching(/archive/)])
}

const kinds = (['anvil', 'hardhat', 'ganache'] as const).flatMap(name => [
  { name, multicall: 'with Multicall3' },
  { name, multicall: 'without Multicall3' },
])

const nginxPlace = findProgram('nginx', 'nginx-light', ['/usr/sbin'])

/** A balancer that sends each request to the next of some nodes; it ends with the test. */
async function balancer(nodes: readonly RealNode[]): Promise<string> {
  if (nginxPlace.kind === 'missing') throw new Error(nginxPlace.reason)
  const folder = temporaryFolder()
  const port = await freePort()
  const servers = nodes.map(({ url }) => `server ${new URL(url).host};`).join(' ')
  const config = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder};`)
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr notice; events {}
http { access_log off; ${temporary.join(' ')}
upstream nodes { ${servers} } server { listen 127.0.0.1:${port}; location / { proxy_pass http://nodes; } } }`,
  )
  const child = spawn(nginxPlace.path, ['-c', config, '-p', folder], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    let said = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      said += text
      if (said.includes('start worker process') || said.includes('using the "epoll"')) resolve()
    })
    child.once('close', () => reject(new Error(`nginx ended: ${said}`)))
  })
  return `http://127.0.0.1:${port}`
}

describe.skipIf(!hasNodes())('nodes of others (needs npm ci --prefix test/nodes)', () => {
  it.each(kinds)('$name, $multicall', async ({ name, multicall }) => {
    const written = await write(await RealNode.start(name, genesisSeconds), multicall === 'with Multicall3')
    const { values, code, text } = await read(written, written.node.url)
    expect(values, text).toEqual(linesOf(written.expected))
    expect(code).toBe(0)
  })

  it('a fork by Hardhat gives its own hours; those of the chain that was forked are right or absent', async () => {
    const forked = await write(await RealNode.start('anvil', genesisSeconds), true, pastHours)
    await mineEmpty(forked.node, 1_800)
    // It forks at a block that no reorg reaches any more, well before the last.
    const fork = await RealNode.start('hardhat', genesisSeconds, '--fork', forked.node.url)
    await mineEmpty(fork, 600)
    const own = await writeHours(fork, forked.contract, newHours, lastOf(forked))
    await expectPart(own, linesOf(forked.expected))
  })

  it('a node that has pruned its past gives what it still has, and an archive node is named', async () => {
    const written = await write(await RealNode.start('anvil', genesisSeconds, '--prune-history', '12'), true, pastHours)
    await mineEmpty(written.node, 1_800)
    const own = await writeHours(written.node, written.contract, newHours, lastOf(written))
    await expectPart(own, linesOf(written.expected))
  })

  it.skipIf(nginxPlace.kind === 'missing').each(['with', 'without'])(
    'behind a balancer one node lags (%s Multicall3): every value all the same',
    async multicall => {
      const whole = await write(await RealNode.start('anvil', genesisSeconds), multicall === 'with')
      const lagging = await write(
        await RealNode.start('anvil', genesisSeconds),
        multicall === 'with',
        hours.slice(0, 4),
      )
      const { values, code, text } = await read(whole, await balancer([whole.node, lagging.node]))
      expect(values, text).toEqual(linesOf(whole.expected))
      expect(code).toBe(0)
    },
  )
})
