terraform {
  required_version = ">= 1.5"
}

variable "region" {
  type    = string
  default = "eu"
}

# Where files are kept.
resource "aws_s3_bucket" "files" {
  bucket = "files"

  versioning {
    enabled = true
  }
}

locals {
  name = "shop"
}

output "arn" {
  value = aws_s3_bucket.files.arn
}
