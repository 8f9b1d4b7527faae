export { PendingScreen as QualityTab } from '../pending/PendingScreen.js'
