<# Deploys things. #>
param([string]$Target = "dev")

enum Stage {
    Dev
    Prod
}

class Deployer {
    [string]$Name
    static [int]$Count = 0

    Deployer([string]$name) {
        $this.Name = $name
    }

    [bool] Run([int]$times) {
        return $true
    }
}

# Copies the files.
function Copy-Release {
    [CmdletBinding()]
    param([string]$From)
    Write-Output $From
}

filter Select-Even { if ($_ % 2 -eq 0) { $_ } }
