import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Abi } from 'viem'
import { z } from 'zod'
import type { Artifact } from '../../src/devchain/contracts.ts'

const require = createRequire(import.meta.url)

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
 * Compiles files of a folder, each with a contract of its own name, with solc-js in about two seconds, the first time. In a
 * process of its own: the compiler installs a handler for unhandled rejections and keeps 100 MB.
 *
 * @throws Error with the compiler's own words
 */
export async function compiledContracts<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<Readonly<Record<Name, Artifact>>> {
  const { errors, contracts } = compilerOutput.parse(JSON.parse(await compilerAnswer(folder, names)))
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const artifact = (name: string): Artifact => {
    const contract = contracts[`${name}.sol`]?.[name]
    if (!contract) throw new Error(`the compiler gave no ${name}`)
    return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }
  }
  return Object.fromEntries(names.map(name => [name, artifact(name)])) as Record<Name, Artifact>
}

/** A contract of `test/contracts`: a liquid staking token, a list that changes. */
export async function ownContract<Name extends 'Staked' | 'Registry'>(name: Name): Promise<Artifact> {
  return (await compiledContracts(fileURLToPath(new URL('../contracts/', import.meta.url)), [name]))[name]
}

/** Code without opcodes that an older node would not know, and without the digest of its source. */
const settings = {
  optimizer: { enabled: true },
  evmVersion: 'paris',
  metadata: { appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
}

const modules = join(require.resolve('@openzeppelin/contracts/package.json'), '../../..')

/** The compiler's output for the contracts, or what it has said of the same ones, with the same libraries, before. */
async function compilerAnswer(folder: string, names: readonly string[]): Promise<string> {
  const sources = Object.fromEntries(names.map(name => [`${name}.sol`, { urls: [`${name}.sol`] }]))
  const input = JSON.stringify({ language: 'Solidity', sources, settings })
  const digest = createHash('sha256').update(input)
  // A contract may import others of the folder.
  for (const name of (await readdir(folder)).sort()) digest.update(await readFile(join(folder, name)))
  for (const library of ['solc', '@openzeppelin/contracts']) {
    digest.update(await readFile(require.resolve(`${library}/package.json`)))
  }
  const file = join(modules, '.cache/tidegauge', `contracts-${digest.digest('hex')}.json`)
  const known = await readFile(file, 'utf8').catch(() => undefined)
  if (known !== undefined) return known
  const answer = await solc(folder, input)
  await keep(file, answer).catch(() => {})
  return answer
}

/** In one step: another process may read it. Where it cannot be written it is compiled again. */
async function keep(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.${process.pid}`, text)
  await rename(`${file}.${process.pid}`, file)
}

function solc(folder: string, input: string): Promise<string> {
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
