export type { AllowedHosts } from './allowed-host.js'
export { plainHost } from './allowed-host.js'
export { ConfiguredChannels } from './configured-channels.js'
export { Dispatcher } from './dispatcher.js'
