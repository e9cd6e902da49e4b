import { createRequire } from 'node:module'
import { type Abi, type Address, type Hex, isHex } from 'viem'
import { z } from 'zod'
import type { Artifact } from '../../src/devchain/contracts.ts'

const require = createRequire(import.meta.url)

const links = z.record(z.string(), z.record(z.string(), z.array(z.object({ start: z.int(), length: z.int() }))))

const published = z.object({
  abi: z.custom<Abi>(Array.isArray),
  bytecode: z.string().transform(text => (text.startsWith('0x') ? text : `0x${text}`)),
  linkReferences: links.default({}),
})

/**
 * A contract as its package ships it, compiled by its authors.
 *
 * @param file of the artifact, like `@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json`
 * @param libraries deployed ones by their names, which the contract calls
 */
export function publishedContract(file: string, libraries: Readonly<Record<string, Address>> = {}): Artifact {
  return parsedArtifact(require(file), libraries)
}

/** @param json as compilers write it; a contract that is called by its address alone is linked by `libraries` */
export function parsedArtifact(json: unknown, libraries: Readonly<Record<string, Address>> = {}): Artifact {
  const { abi, bytecode, linkReferences } = published.parse(json)
  let linked: string = bytecode
  for (const [name, places] of Object.values(linkReferences).flatMap(Object.entries)) {
    const address = libraries[name]
    if (!address) throw new Error(`the library ${name} is missing`)
    for (const { start, length } of places as z.output<typeof links>[string][string]) {
      const at = 2 + 2 * start
      linked = linked.slice(0, at) + address.slice(2).toLowerCase() + linked.slice(at + 2 * length)
    }
  }
  if (!isHex(linked)) throw new Error('the contract is not linked')
  return { abi, bytecode: linked satisfies Hex }
}
