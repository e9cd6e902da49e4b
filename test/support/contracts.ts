import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Abi, Hex } from 'viem'
import { z } from 'zod'

const require = createRequire(import.meta.url)
const folder = fileURLToPath(new URL('../contracts/', import.meta.url))
const names = ['Token', 'Vault', 'Feed', 'Trader', 'Staked'] as const

/** A contract ready to deploy: `bytecode` is creation code, to which encoded constructor arguments are appended. */
export interface Artifact {
  readonly abi: Abi
  readonly bytecode: Hex
}

export type Compiled = Readonly<Record<(typeof names)[number], Artifact>>

const compilerOutput = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .record(
      z.string(),
      z.record(
        z.string(),
        z.object({ abi: z.custom<Abi>(Array.isArray), evm: z.object({ bytecode: z.object({ object: z.string() }) }) }),
      ),
    )
    .default({}),
})

/**
 * Compiles `test/contracts` with solc-js in about two seconds, the first time. In a process of its own: the compiler
 * installs a handler for unhandled rejections and keeps 100 MB.
 *
 * @throws Error with the compiler's own words
 */
export async function compiledContracts(): Promise<Compiled> {
  const { errors, contracts } = compilerOutput.parse(JSON.parse(await compilerAnswer()))
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const artifact = (name: string): Artifact => {
    const contract = contracts[`${name}.sol`]?.[name]
    if (!contract) throw new Error(`the compiler gave no ${name}`)
    return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }
  }
  return {
    Token: artifact('Token'),
    Vault: artifact('Vault'),
    Feed: artifact('Feed'),
    Trader: artifact('Trader'),
    Staked: artifact('Staked'),
  }
}

function compilerInput() {
  return {
    language: 'Solidity',
    sources: Object.fromEntries(names.map(name => [`${name}.sol`, { urls: [`${name}.sol`] }])),
    settings: { optimizer: { enabled: true }, outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  }
}

const modules = join(require.resolve('@openzeppelin/contracts/package.json'), '../../..')

/** The compiler's output for the contracts, or has said of the same ones, with the same libraries, before. */
async function compilerAnswer(): Promise<string> {
  const input = JSON.stringify(compilerInput())
  const digest = createHash('sha256').update(input)
  for (const name of names) digest.update(await readFile(join(folder, `${name}.sol`)))
  for (const library of ['solc', '@openzeppelin/contracts']) {
    digest.update(await readFile(require.resolve(`${library}/package.json`)))
  }
  const file = join(modules, '.cache/tidegauge', `contracts-${digest.digest('hex')}.json`)
  const known = await readFile(file, 'utf8').catch(() => undefined)
  if (known !== undefined) return known
  const answer = await solc(input)
  await keep(file, answer).catch(() => {})
  return answer
}

/** In one step: another process may read it. Where it cannot be written it is compiled again. */
async function keep(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.${process.pid}`, text)
  await rename(`${file}.${process.pid}`, file)
}

function solc(input: string): Promise<string> {
  const flags = ['--standard-json', '--base-path', folder, '--include-path', modules]
  return new Promise((resolve, reject) => {
    const argv = [require.resolve('solc/solc.js'), ...flags]
    const child = execFile(process.execPath, argv, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      // Its first line, about solvers it does not have, is no JSON.
      if (error) reject(error)
      else resolve(stdout.slice(stdout.indexOf('{')))
    })
    child.stdin?.end(input)
  })
}

const published = z.object({ abi: z.custom<Abi>(Array.isArray), bytecode: z.string().regex(/^[0-9a-f]+$/) })

/** Uniswap V2 as its package ships it, compiled by its authors. */
export function uniswapContract(name: 'UniswapV2Factory' | 'UniswapV2Pair'): Artifact {
  const { abi, bytecode } = published.parse(require(join('@uniswap/v2-core/build', `${name}.json`)))
  return { abi, bytecode: `0x${bytecode}` }
}

/** Where Multicall3 lives on nearly every chain. */
export const multicall3Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Multicall3's creation code, which viem carries without exporting it. */
export function multicall3Bytecode(): Hex {
  const constants = join(dirname(require.resolve('viem')), 'constants/contracts.js')
  const { multicall3Bytecode } = require(constants) as { multicall3Bytecode: Hex }
  return multicall3Bytecode
}
