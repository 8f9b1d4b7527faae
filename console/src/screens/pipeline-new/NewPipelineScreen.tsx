export { PendingScreen as NewPipelineScreen } from '../pending/PendingScreen.js'
