/** The chain of a Hardhat node: block 0 has the timestamp that the test gives. */
const genesis = new Date(Number(process.env.GENESIS_SECONDS) * 1000)

export default {
  networks: { node: { type: 'edr-simulated', chainId: 31337, initialDate: genesis } },
  paths: { artifacts: 'node_modules/.cache/hardhat/artifacts', cache: 'node_modules/.cache/hardhat' },
}
